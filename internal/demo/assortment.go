package demo

// category is a family of items that share storage and handling. Each product
// comes in the listed variants; price is the cost of the first variant in
// hundredths and rises with each further one.
type category struct {
	name, prefix string
	class        string // storage class
	lots         bool
	shelfLife    int // days; 0 = does not expire
	hazmat       string
	uom          string
	review       int // weekday of the weekly look at stock
	supplier     string
	lead         int // days until a purchase arrives
	products     []product
}

type product struct {
	name     string
	cents    int64
	weight   float64 // kg
	capacity float64 // capacity units per piece
	packet   int     // pieces are ordered in multiples of this
	variants []string
}

var northCategories = []category{
	{name: "Fasteners", prefix: "FAS", class: "ambient", uom: "EA", review: 1, supplier: "Sauerland Schrauben GmbH",
		lead: 4, products: []product{
			{"Hex bolt DIN 933 8.8 zinc", 9, 0.02, 0.02, 100, []string{"M6x20", "M6x40", "M8x30", "M8x60", "M10x40", "M10x80",
				"M12x60"}},
			{"Hex nut DIN 934 zinc", 4, 0.005, 0.01, 200, []string{"M6", "M8", "M10", "M12", "M16"}},
			{"Flat washer DIN 125 A2", 3, 0.003, 0.01, 200, []string{"M6", "M8", "M10", "M12"}},
			{"Chipboard screw TX", 5, 0.006, 0.01, 200, []string{"4x40", "5x60", "5x80", "6x120"}},
			{"Wall plug nylon", 6, 0.004, 0.01, 100, []string{"6 mm", "8 mm", "10 mm", "12 mm"}},
			{"Threaded rod DIN 976 1 m", 185, 0.6, 0.5, 10, []string{"M8", "M10", "M12"}},
		}},
	{name: "Hand tools", prefix: "HTL", class: "ambient", uom: "EA", review: 2, supplier: "Remscheid Werkzeug KG", lead: 6,
		products: []product{
			{"Combination spanner chrome vanadium", 420, 0.15, 0.3, 5, []string{"10 mm", "13 mm", "17 mm", "19 mm", "24 mm"}},
			{"Screwdriver insulated 1000 V", 560, 0.12, 0.2, 5, []string{"PH1", "PH2", "PZ2", "slot 4 mm", "slot 5.5 mm"}},
			{"Ball-peen hammer hickory", 1190, 0.6, 0.8, 2, []string{"300 g", "500 g", "800 g"}},
			{"Water pump pliers", 1850, 0.4, 0.5, 2, []string{"180 mm", "250 mm", "300 mm"}},
			{"Bow saw", 990, 0.5, 1.2, 2, []string{"300 mm", "530 mm"}},
			{"Tape measure steel", 640, 0.2, 0.2, 5, []string{"3 m", "5 m", "8 m"}},
		}},
	{name: "Power tools", prefix: "PWR", class: "secure", uom: "EA", review: 3, supplier: "Filder Elektrowerkzeuge",
		lead: 9, products: []product{
			{"Cordless drill driver 18 V", 8900, 1.8, 4, 1, []string{"2x2.0 Ah", "2x4.0 Ah", "bare"}},
			{"Angle grinder", 5400, 2.1, 4, 1, []string{"115 mm", "125 mm", "230 mm"}},
			{"Rotary hammer SDS-plus", 13900, 3.2, 6, 1, []string{"2.6 J", "3.2 J"}},
			{"Jigsaw 650 W", 7600, 2.3, 5, 1, []string{"barrel grip", "bow handle"}},
			{"Laser distance meter", 6900, 0.3, 0.5, 1, []string{"30 m", "50 m", "100 m"}},
		}},
	{name: "Protective equipment", prefix: "PPE", class: "ambient", uom: "EA", review: 4,
		supplier: "Nordschutz Arbeitssicherheit", lead: 3, products: []product{
			{"Nitrile glove cut C", 290, 0.05, 0.1, 12, []string{"size 7", "size 8", "size 9", "size 10", "size 11"}},
			{"Safety helmet vented", 1150, 0.4, 2, 5, []string{"white", "yellow", "blue", "orange"}},
			{"Safety shoe S3 low", 4900, 1.3, 3, 1, []string{"size 40", "size 41", "size 42", "size 43", "size 44", "size 45"}},
			{"High visibility vest class 2", 380, 0.15, 0.3, 10, []string{"M", "L", "XL", "XXL"}},
			{"Respirator FFP3 NR", 145, 0.02, 0.1, 20, []string{"valved", "unvalved"}},
			{"Ear defender SNR", 1690, 0.25, 1, 5, []string{"27 dB", "32 dB", "36 dB"}},
			{"Knee pad gel", 1450, 0.4, 0.8, 2, []string{"strap", "insert"}},
			{"Cut resistant sleeve", 590, 0.1, 0.1, 6, []string{"40 cm", "45 cm", "56 cm"}},
			{"Safety spectacles clear", 320, 0.04, 0.2, 10, []string{"standard", "over glasses"}},
		}},
	{name: "Electrical", prefix: "ELE", class: "ambient", uom: "EA", review: 5, supplier: "Hansa Elektro Großhandel",
		lead: 5, products: []product{
			{"Cable NYM-J 100 m", 5900, 12, 8, 1, []string{"3x1.5", "3x2.5", "5x1.5", "5x2.5"}},
			{"Circuit breaker B 1-pole", 240, 0.12, 0.1, 12, []string{"10 A", "13 A", "16 A", "20 A", "25 A"}},
			{"Residual current device 40 A", 2350, 0.25, 0.3, 2, []string{"2-pole 30 mA", "4-pole 30 mA", "4-pole 300 mA"}},
			{"LED tube T8 4000 K", 690, 0.3, 1, 10, []string{"600 mm", "1200 mm", "1500 mm"}},
			{"Cable tie black 100 pcs", 180, 0.1, 0.1, 20, []string{"140 mm", "200 mm", "290 mm", "370 mm"}},
			{"Junction box IP54", 160, 0.1, 0.3, 20, []string{"75x75", "100x100", "150x110"}},
		}},
	{name: "Plumbing", prefix: "PLU", class: "ambient", uom: "EA", review: 1, supplier: "Rohr & Ventil Handels GmbH",
		lead: 7, products: []product{
			{"Copper pipe 5 m", 1980, 2.2, 3, 5, []string{"15 mm", "18 mm", "22 mm", "28 mm"}},
			{"Press fitting elbow 90", 260, 0.06, 0.1, 20, []string{"15 mm", "18 mm", "22 mm", "28 mm"}},
			{"Ball valve brass full bore", 720, 0.3, 0.3, 5, []string{`1/2"`, `3/4"`, `1"`, `1 1/4"`}},
			{"PTFE thread seal tape 12 m", 55, 0.02, 0.02, 50, []string{"standard", "gas"}},
			{"Circulation pump", 11900, 2.6, 4, 1, []string{"25-40", "25-60", "32-60"}},
		}},
	{name: "Lubricants and chemicals", prefix: "CHE", class: "hazmat", lots: true, shelfLife: 730, hazmat: "UN1950",
		uom: "EA", review: 2, supplier: "Elbe Chemie Vertrieb", lead: 6, products: []product{
			{"Brake cleaner spray 500 ml", 210, 0.45, 0.4, 12, []string{"standard", "acetone-free"}},
			{"Penetrating oil spray 400 ml", 340, 0.4, 0.4, 12, []string{"standard", "with PTFE", "food grade H1"}},
			{"Zinc spray 400 ml", 480, 0.4, 0.4, 12, []string{"bright", "matt"}},
			{"Hydraulic oil HLP 46", 2900, 4.5, 6, 1, []string{"5 l", "20 l"}},
			{"Contact cleaner 300 ml", 390, 0.3, 0.3, 12, []string{"fast drying", "residue-free"}},
			{"Isopropanol 99.9 %", 620, 0.9, 1, 6, []string{"1 l", "5 l"}},
		}},
	{name: "Adhesives and resins", prefix: "ADH", class: "cool", lots: true, shelfLife: 270, uom: "EA", review: 3,
		supplier: "Klebtechnik Nord", lead: 5, products: []product{
			{"Two-component epoxy cartridge", 1450, 0.1, 0.2, 6, []string{"50 ml 5 min", "50 ml 20 min", "400 ml"}},
			{"Cyanoacrylate 20 g", 310, 0.03, 0.05, 10, []string{"low viscosity", "gel"}},
			{"Threadlocker 50 ml", 890, 0.07, 0.1, 6, []string{"medium", "strong", "removable"}},
			{"Injection mortar vinylester", 1180, 0.6, 0.6, 6, []string{"300 ml", "410 ml"}},
			{"Hybrid sealant 290 ml", 520, 0.45, 0.4, 12, []string{"white", "grey", "black"}},
		}},
	{name: "First aid and hygiene", prefix: "AID", class: "ambient", lots: true, shelfLife: 540, uom: "EA", review: 4,
		supplier: "Medica Hanse", lead: 4, products: []product{
			{"First aid kit DIN 13157", 2150, 1.2, 3, 1, []string{"box", "refill"}},
			{"Eye wash bottle 500 ml", 1240, 0.6, 0.8, 2, []string{"saline", "buffered"}},
			{"Burn gel dressing", 690, 0.1, 0.2, 5, []string{"10x10 cm", "20x20 cm"}},
			{"Hand cleaner heavy duty", 780, 3.1, 3, 4, []string{"500 ml", "3 l"}},
			{"Skin protection cream 100 ml", 460, 0.12, 0.1, 12, []string{"before work", "after work"}},
			{"Plaster dispenser refill", 340, 0.05, 0.05, 10, []string{"textile", "detectable"}},
		}},
	{name: "Packaging", prefix: "PAC", class: "ambient", uom: "EA", review: 5, supplier: "Kartonwerk Lauenburg", lead: 3,
		products: []product{
			{"Corrugated box single wall", 48, 0.3, 0.6, 50, []string{"300x200x150", "400x300x200", "600x400x300",
				"600x400x400"}},
			{"Packing tape 66 m brown", 110, 0.25, 0.15, 36, []string{"PP", "paper", "PVC low noise"}},
			{"Stretch film 500 mm", 620, 2.4, 1.5, 6, []string{"20 my", "23 my", "black"}},
			{"Pallet collar 1200x800", 890, 8.5, 12, 5, []string{"folding", "fixed"}},
			{"Euro pallet EPAL", 1350, 24, 30, 5, []string{"new", "grade A"}},
			{"Thermal label roll", 540, 0.5, 0.3, 12, []string{"100x50", "100x150", "60x40", "100x210"}},
			{"Void fill paper 380 mm", 2150, 7.5, 8, 2, []string{"brown", "recycled"}},
			{"Edge protector cardboard", 32, 0.15, 0.2, 100, []string{"800 mm", "1200 mm"}},
		}},
	{name: "Lifting and access", prefix: "LFT", class: "ambient", uom: "EA", review: 3, supplier: "Hebezeug Lübeck",
		lead: 8, products: []product{
			{"Polyester sling 2 m", 890, 0.9, 1, 2, []string{"1 t", "2 t", "3 t"}},
			{"Shackle bow type", 640, 0.5, 0.3, 4, []string{"1.5 t", "3.25 t", "6.5 t"}},
			{"Aluminium step ladder", 6900, 6, 18, 1, []string{"4 steps", "6 steps", "8 steps"}},
			{"Ratchet strap 8 m", 980, 1.6, 1.5, 4, []string{"2.5 t", "5 t"}},
			{"Fall arrest harness", 5600, 1.4, 3, 1, []string{"M/L", "XL"}},
			{"Pallet truck 2.5 t", 27900, 68, 60, 1, []string{"nylon wheels", "rubber wheels"}},
		}},
	{name: "Cleaning", prefix: "CLN", class: "ambient", uom: "EA", review: 2, supplier: "Saubermann Bedarf", lead: 3,
		products: []product{
			{"Microfibre cloth pack of 10", 690, 0.4, 0.5, 6, []string{"blue", "red", "green", "yellow"}},
			{"Industrial wipes roll 500", 1450, 2.1, 4, 2, []string{"white", "blue", "oil absorbing"}},
			{"Broom head 600 mm", 980, 0.9, 2, 4, []string{"hard", "soft", "combination"}},
			{"Waste sack 120 l roll of 25", 390, 0.9, 0.6, 10, []string{"70 my", "100 my"}},
			{"Oil binding granulate 20 kg", 1690, 20, 10, 2, []string{"type III R", "type III R SF"}},
			{"Mop frame 400 mm", 1250, 0.5, 1.5, 2, []string{"flat", "kentucky"}},
		}},
	{name: "Batteries and lighting", prefix: "BAT", class: "secure", uom: "EA", review: 4, supplier: "Lichtkontor Altona",
		lead: 5, products: []product{
			{"Alkaline cell box of 24", 980, 0.6, 0.3, 6, []string{"AA", "AAA", "C", "D"}},
			{"Tool battery 18 V", 5900, 0.7, 0.5, 1, []string{"2.0 Ah", "4.0 Ah", "5.5 Ah", "8.0 Ah"}},
			{"Head torch rechargeable", 3200, 0.15, 0.3, 2, []string{"300 lm", "600 lm"}},
			{"Work light LED on stand", 7900, 4.2, 8, 1, []string{"30 W", "50 W", "2x30 W"}},
			{"Emergency exit luminaire", 4600, 0.9, 2, 2, []string{"wall", "ceiling"}},
			{"Extension reel 25 m IP44", 5200, 5.1, 6, 1, []string{"230 V", "400 V 16 A"}},
		}},
}

var southCategories = []category{
	{name: "Auto parts", prefix: "AUT", class: "ambient", uom: "EA", review: 1, supplier: "Great Lakes Auto Supply",
		lead: 5, products: []product{
			{"Oil filter spin-on", 420, 0.4, 0.5, 12, []string{"3/4-16", "M20x1.5", "13/16-16", "M22x1.5"}},
			{"Brake pad set ceramic", 2450, 1.8, 1.5, 2, []string{"front compact", "front truck", "rear compact", "rear truck"}},
			{"Cabin air filter", 780, 0.2, 1, 6, []string{"standard", "carbon"}},
			{"Wiper blade beam", 690, 0.2, 0.5, 10, []string{"16 in", "20 in", "22 in", "26 in"}},
			{"AGM battery", 13900, 19, 12, 1, []string{"group 35", "group 48", "group 65"}},
		}},
	{name: "Fluids", prefix: "FLU", class: "hazmat", lots: true, shelfLife: 1095, hazmat: "UN1993", uom: "EA", review: 3,
		supplier: "Permian Lubricants", lead: 6, products: []product{
			{"Motor oil full synthetic 5 qt", 1890, 4.4, 5, 4, []string{"0W-20", "5W-30", "10W-40"}},
			{"Coolant 50/50 gal", 1150, 4.1, 5, 6, []string{"green", "orange", "universal"}},
			{"Brake fluid DOT 4 12 oz", 560, 0.4, 0.4, 12, []string{"standard", "low viscosity"}},
			{"Carburetor cleaner 13 oz", 390, 0.45, 0.4, 12, []string{"standard", "low VOC"}},
		}},
	{name: "Pet supplies", prefix: "PET", class: "ambient", lots: true, shelfLife: 365, uom: "EA", review: 2,
		supplier: "Brazos Pet Foods", lead: 4, products: []product{
			{"Dry dog food chicken", 2150, 13.6, 18, 1, []string{"15 lb", "30 lb", "40 lb"}},
			{"Dry cat food salmon", 1680, 7.2, 9, 2, []string{"7 lb", "16 lb"}},
			{"Clumping litter", 980, 15.9, 14, 2, []string{"20 lb", "35 lb", "unscented 35 lb"}},
			{"Dental chews", 720, 0.4, 0.5, 12, []string{"small", "medium", "large"}},
		}},
	{name: "Outdoor and garden", prefix: "OUT", class: "ambient", uom: "EA", review: 4, supplier: "Cimarron Outdoor",
		lead: 7, products: []product{
			{"Garden hose 5/8 in", 2250, 3.4, 6, 2, []string{"25 ft", "50 ft", "100 ft"}},
			{"Work glove leather", 890, 0.2, 0.3, 12, []string{"M", "L", "XL"}},
			{"Folding camp chair", 1750, 3.2, 8, 2, []string{"green", "blue", "camo"}},
			{"Propane regulator", 1980, 0.5, 0.6, 4, []string{"low pressure", "adjustable"}},
			{"LED lantern", 1490, 0.6, 1, 6, []string{"400 lm", "1000 lm"}},
			{"Cooler hard side", 5400, 5.5, 25, 1, []string{"25 qt", "45 qt", "65 qt"}},
		}},
	{name: "Small appliances", prefix: "APP", class: "ambient", uom: "EA", review: 5, supplier: "Midland Appliance",
		lead: 8, products: []product{
			{"Box fan 20 in", 1980, 3.1, 20, 2, []string{"white", "black"}},
			{"Coffee maker 12 cup", 2900, 2.4, 12, 1, []string{"switch", "programmable"}},
			{"Air fryer", 6400, 4.6, 22, 1, []string{"4 qt", "6 qt"}},
			{"Space heater ceramic", 3150, 2.2, 10, 1, []string{"750 W", "1500 W"}},
			{"Shop vacuum wet/dry", 6900, 6.3, 30, 1, []string{"4 gal", "6 gal", "12 gal"}},
		}},
	{name: "Tools", prefix: "TLS", class: "ambient", uom: "EA", review: 2, supplier: "Ozark Tool Company", lead: 6,
		products: []product{
			{"Socket set", 4900, 3.8, 3, 1, []string{"1/4 in drive", "3/8 in drive", "1/2 in drive"}},
			{"Utility knife retractable", 620, 0.2, 0.1, 12, []string{"standard", "heavy duty"}},
			{"Claw hammer fiberglass", 1350, 0.9, 0.8, 4, []string{"16 oz", "20 oz"}},
			{"Ratchet tie-down 4 pack", 2250, 2.9, 2, 4, []string{"1 in", "2 in"}},
			{"Jumper cable", 2400, 2.6, 3, 2, []string{"12 ft", "16 ft", "20 ft"}},
			{"Trailer hitch ball", 1590, 1.1, 0.5, 4, []string{"1 7/8 in", "2 in", "2 5/16 in"}},
		}},
}
