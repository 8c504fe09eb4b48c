CREATE INDEX "catalog_function_held" ON "catalog_function" ("catalog", "group_name", "kind", "from_serial", "to_serial", "selection" ->> '$.versions[0].source') WHERE "entry" IS NOT NULL;
--> statement-breakpoint
CREATE INDEX "catalog_function_shadowed" ON "catalog_function" ("catalog", "group_name", "kind", "from_serial", "to_serial") WHERE json_array_length("selection", '$.shadowed') > 0;
--> statement-breakpoint
CREATE INDEX "catalog_function_refused" ON "catalog_function" ("catalog", "group_name", "kind", "from_serial", "to_serial") WHERE json_array_length("selection", '$.refused') > 0;
--> statement-breakpoint
CREATE INDEX "catalog_function_yanked" ON "catalog_function" ("catalog", "group_name", "kind", "from_serial", "to_serial") WHERE json_array_length("selection", '$.yanked') > 0;
