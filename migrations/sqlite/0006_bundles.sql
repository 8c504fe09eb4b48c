CREATE TABLE "release_bundles" (
  "release" integer PRIMARY KEY NOT NULL REFERENCES "release" ("id") ON DELETE CASCADE,
  "bundles" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "function" ADD COLUMN "signatures" text DEFAULT '[]' NOT NULL;
--> statement-breakpoint
CREATE TABLE "policy" (
  "id" integer PRIMARY KEY NOT NULL CHECK ("id" = 1),
  "revision" integer NOT NULL,
  "text" text NOT NULL,
  "applied_at" text NOT NULL,
  "applied_by" text NOT NULL
);
