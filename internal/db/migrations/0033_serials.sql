-- A serial number is in stock once: what comes in looks for it in every zone.
create index stock_levels_serial_idx on stock_levels (tenant_id, item_id, serial) where serial is not null;
