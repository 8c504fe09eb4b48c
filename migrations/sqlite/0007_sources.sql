ALTER TABLE "catalog" ADD COLUMN "clock" text DEFAULT '' NOT NULL;
--> statement-breakpoint
UPDATE "catalog" SET "clock" = "applied_at";
--> statement-breakpoint
ALTER TABLE "event" ADD COLUMN "source" text;
--> statement-breakpoint
ALTER TABLE "snapshot" ADD COLUMN "sources" text;
--> statement-breakpoint
CREATE INDEX "catalog_function_entry" ON "catalog_function" ("entry");
--> statement-breakpoint
CREATE TABLE "catalog_source" (
  "catalog" text NOT NULL REFERENCES "catalog" ("name"),
  "source" text NOT NULL,
  "url" text NOT NULL,
  "next_at" text NOT NULL,
  "checked_at" text,
  "failure" text,
  "copy" text,
  "highest" text,
  PRIMARY KEY ("catalog", "source")
);
--> statement-breakpoint
CREATE TABLE "upstream_entry" (
  "catalog" text NOT NULL,
  "source" text NOT NULL,
  "group_name" text NOT NULL,
  "kind_folded" text NOT NULL,
  "definition" text NOT NULL REFERENCES "entry" ("digest"),
  "kind" text NOT NULL,
  "facts" text NOT NULL,
  "first_seen" text NOT NULL,
  "gone_at" text,
  "changed_event" integer NOT NULL,
  PRIMARY KEY ("catalog", "source", "group_name", "kind_folded", "definition"),
  FOREIGN KEY ("catalog", "source") REFERENCES "catalog_source" ("catalog", "source")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "upstream_entry_present" ON "upstream_entry" ("catalog", "group_name", "kind_folded", "source")
  WHERE "gone_at" IS NULL;
--> statement-breakpoint
CREATE INDEX "upstream_entry_order" ON "upstream_entry" ("catalog", "group_name", "kind");
--> statement-breakpoint
CREATE INDEX "upstream_entry_change" ON "upstream_entry" ("catalog", "changed_event");
--> statement-breakpoint
CREATE INDEX "upstream_entry_age" ON "upstream_entry" ("catalog", "source", "first_seen");
--> statement-breakpoint
CREATE INDEX "upstream_entry_definition" ON "upstream_entry" ("definition");
--> statement-breakpoint
CREATE TABLE "loose_entry" (
  "digest" text PRIMARY KEY NOT NULL,
  "since" text NOT NULL
);
