CREATE TEMPORARY TABLE "folded" AS
  SELECT "id", "kind", "tags", "description", "group_name", "publisher" FROM "function"
  UNION ALL SELECT "id", "kind", "tags", "description", "group_name", "publisher" FROM "upstream_function";
--> statement-breakpoint
DELETE FROM "folded" WHERE instr("kind", '-') = 0
  AND length(CAST("tags" || "description" || "publisher" AS blob)) = length("tags" || "description" || "publisher");
--> statement-breakpoint
DELETE FROM "function_text" WHERE rowid IN (SELECT "id" FROM "folded");
--> statement-breakpoint
INSERT INTO "function_text" (rowid, "kind", "tags", "description", "group_name", "publisher")
  SELECT "id", kind_text("kind"), fold_case((SELECT ifnull(group_concat("value", ' '), '') FROM json_each("tags"))),
    fold_case("description"), "group_name", fold_case("publisher") FROM "folded";
--> statement-breakpoint
DROP TABLE "folded";
