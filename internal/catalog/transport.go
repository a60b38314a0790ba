package catalog

func carriers() Resource {
	return Resource{
		Name: "carriers", Family: "logistics", Archives: true,
		Doc: "Forwarders and parcel services that take shipments; one that is archived takes none.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true, Fixed: true},
			{Name: "name", Format: Name, Required: true},
			{Name: "services", Type: Array, Required: true, Default: "[]", MaxLen: 50, Doc: "Those that shipments may ask for; empty = any."},
		},
		Unique: [][]string{{"code"}},
		Access: master(),
	}
}
