"""Rows, answers and requests of a started Holdfast as models of holdfast.py,
which `holdfast gen types python` wrote. Needs pydantic, 1.10 or 2."""

import json
import os
import time
import urllib.error
import urllib.request

import pydantic

import holdfast

URL = os.environ["HOLDFAST_URL"]
V2 = pydantic.VERSION.startswith("2")


def ask(method, path, body=None, token=None):
    headers = {"Content-Type": "application/json", "Prefer": "return=representation"}
    if token:
        headers["Authorization"] = "Bearer " + token
    request = urllib.request.Request(URL + path, method=method, headers=headers, data=body.encode() if body else None)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def parse(model, value):
    return model.model_validate(value) if V2 else model.parse_obj(value)


def dump(model):
    if V2:
        return model.model_dump_json(by_alias=True, exclude_unset=True)
    return model.json(by_alias=True, exclude_unset=True)


def wire(model):
    """The names that a model's members have in JSON."""
    fields = model.model_fields if V2 else model.__fields__
    return {field.alias or name for name, field in fields.items()}


def sign_in(email):
    status, session = ask("POST", "/auth/v1/token?grant_type=password", json.dumps({"email": email, "password": "holdfast-demo"}))
    assert status == 200, session
    return session["access_token"]


def rows(token):
    """Every row has the members of its model, all of them, and of their types."""
    names = {}
    for model in vars(holdfast).values():
        doc = getattr(model, "__doc__", None) or ""
        if isinstance(model, type) and model.__name__.endswith("Row") and doc.startswith("A row of "):
            names[doc.split()[3].rstrip(",")] = model
    assert len(names) > 60, len(names)
    count = seen = 0
    for name, model in names.items():
        status, found = ask("GET", f"/v1/{name}?limit=100", token=token)
        assert status == 200, (name, found)
        for row in found:
            # What only the server reads is null, and no member of the model.
            given = {member for member, value in row.items() if value is not None}
            assert given <= wire(model) <= set(row), (name, given - wire(model), wire(model) - set(row))
            parse(model, row)
        count, seen = count + len(found), seen + bool(found)
    assert seen >= 40, seen
    print(f"ok: {count} rows of {seen} collections")


def writes(token):
    sku = f"PY-{time.time_ns()}"
    item = holdfast.ItemsInsert(sku=sku, name="Made by Python", description="A strap")
    assert json.loads(dump(item)) == {"sku": sku, "name": "Made by Python", "description": "A strap"}
    status, made = ask("POST", "/v1/items", dump(item), token)
    assert status == 201, made
    status, changed = ask("PATCH", f"/v1/items?sku=eq.{sku}", dump(holdfast.ItemsUpdate(description=None)), token)
    assert status == 200 and parse(holdfast.ItemsRow, changed[0]).description is None, changed


def answers(token):
    _, items = ask("GET", "/v1/items?tracking=eq.none&available=gt.100&limit=1", token=token)
    _, orders = ask("POST", "/v1/orders", dump(holdfast.OrdersInsert(type="outbound")), token)
    order = parse(holdfast.OrdersRow, orders[0])
    line = holdfast.OrderLinesInsert(order_id=order.id, line_no=1, item_id=items[0]["id"], qty_ordered=2)
    assert ask("POST", "/v1/order_lines", dump(line), token)[0] == 201
    status, said = ask("POST", "/v1/rpc/confirm_order", dump(holdfast.ConfirmOrderArgs(order_id=order.id)), token)
    assert status == 200, said
    confirmed = parse(holdfast.ConfirmOrderAnswer, said)
    assert confirmed.order.status == "confirmed" and confirmed.lines[0].qty_allocated == 2

    for path, model in {
        "safety-kpis": holdfast.SafetyKpisAnswer,
        "get-dashboard-snapshot-v2": holdfast.GetDashboardSnapshotV2Answer,
        "admin-dashboard-summary": holdfast.AdminDashboardSummaryAnswer,
        "warehouse-kpis": holdfast.WarehouseKpisAnswer,
        "inventory-plan": holdfast.InventoryPlanAnswer,
    }.items():
        status, found = ask("GET", f"/functions/v1/{path}", token=token)
        assert status == 200, (path, found)
        parse(model, found)
        assert set(found) <= wire(model), (path, set(found) - wire(model))


def refuses():
    """What is not of its type is refused before it is sent."""
    for model, wrong in (
        (holdfast.ItemsInsert, {"sku": "X"}),
        (holdfast.OrdersInsert, {"type": "sideways"}),
        (holdfast.OrderLinesInsert, {"order_id": "x", "line_no": 1, "item_id": "y", "qty_ordered": "many"}),
        (holdfast.ConfirmOrderArgs, {}),
    ):
        try:
            model(**wrong)
        except pydantic.ValidationError:
            continue
        raise AssertionError(f"{model.__name__} takes {wrong}")


admin = sign_in("admin@north.example")
rows(admin)
writes(admin)
answers(admin)
refuses()
