CREATE TABLE "release_pin" (
  "release" integer NOT NULL REFERENCES "release" ("id") ON DELETE CASCADE,
  "pin" text NOT NULL,
  PRIMARY KEY ("release", "pin")
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX "release_pin_name" ON "release_pin" ("pin");
--> statement-breakpoint
CREATE TABLE "takedown_pin" (
  "takedown" integer NOT NULL REFERENCES "takedown" ("id"),
  "pin" text NOT NULL,
  PRIMARY KEY ("takedown", "pin")
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX "takedown_pin_name" ON "takedown_pin" ("pin");
--> statement-breakpoint
INSERT INTO "release_pin" ("release", "pin")
  SELECT "release"."id", "named"."value" FROM "release", json_each(runtime_pins("release"."definition")) AS "named";
