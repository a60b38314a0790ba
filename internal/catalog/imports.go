package catalog

import "strings"

// What files may write into the records that people keep in lists elsewhere.

func importOrders() *Import {
	return &Import{
		Key: []string{"order_no"}, Lines: "order_lines",
		Fields: strings.Fields("order_no type priority party_name party_code party_gln site_id to_site_id requested_at " +
			"promised_at carrier service source external_ref notes tags"),
	}
}

func importOrderLines() *Import {
	return &Import{
		Key:    []string{"order_id", "line_no"},
		Fields: strings.Fields("order_id line_no item_id uom qty_ordered unit_price price_uom lot_id min_expiry disposition"),
	}
}

func importStockLevels() *Import {
	return &Import{
		Key:    strings.Fields("zone_id item_id lot_id serial lpn stock_status"),
		Fields: strings.Fields("zone_id item_id lot_id serial lpn stock_status quantity"),
	}
}

func importWorkers() *Import {
	return &Import{
		Key: []string{"employee_no"},
		Fields: strings.Fields("employee_no name job_title team_id site_id employment supervised hired_on left_on user_id " +
			"birth_year status"),
	}
}

func importDrivers() *Import {
	return &Import{
		Key:    []string{"worker_id"},
		Fields: strings.Fields("worker_id licence_no licence_class licence_expires_on vehicle_id phone status"),
	}
}

func importVehicles() *Import {
	return &Import{
		Key:    []string{"plate"},
		Fields: strings.Fields("plate vin kind payload_kg volume_m3 odometer_km inspection_due_on site_id status"),
	}
}

func importEquipment() *Import {
	return &Import{
		Key: []string{"asset_no"},
		Fields: strings.Fields("asset_no name kind serial_no zone_id hours_meter service_due_on required_course_id " +
			"status"),
	}
}

func importShifts() *Import {
	return &Import{
		Key: []string{"worker_id", "started_at"},
		Fields: strings.Fields("worker_id started_at ended_at break_minutes hours units_done zone_id team_id vehicle_id " +
			"equipment_id source status"),
	}
}

func importActions() *Import {
	return &Import{
		Key: []string{"action_no"},
		Fields: strings.Fields("action_no title description type source incident_id control_level priority " +
			"assignee_user_id due_on review_on status"),
	}
}

func importCourses() *Import {
	return &Import{
		Key: []string{"code"},
		Fields: strings.Fields("code title kind minutes validity_months risk_threshold entity_types categories " +
			"jurisdictions pass_mark needs_evaluation required_for status"),
	}
}

func importTraining() *Import {
	return &Import{
		Key: []string{"user_id", "worker_id", "course_id", "completed_at"},
		Fields: strings.Fields("user_id worker_id course_id assignment_type assignment_reason due_on completed_at result " +
			"trained_on trainer evaluated_on evaluator expires_on certificate_no status"),
	}
}

func importRegulations() *Import {
	return &Import{
		Key: []string{"code"},
		Fields: strings.Fields("code title jurisdiction citation url category rule severity owner_user_id review_on " +
			"status"),
	}
}
