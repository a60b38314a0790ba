package catalog

func goodsOwners() Resource {
	return Resource{
		Name: "goods_owners", Family: "warehouse", Archives: true,
		Doc: "Clients whose goods the tenant keeps. An order takes stock of its owner only.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true},
			{Name: "name", Format: Name, Required: true},
			{Name: "billing_ref", Format: Name, MaxLen: 100},
		},
		Unique: [][]string{{"code"}},
		Goods:  []string{"id"},
		Access: shownToClients(masterAccess()),
	}
}
