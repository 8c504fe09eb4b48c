ALTER TABLE "registry_user" ADD COLUMN "directory_groups" text;
--> statement-breakpoint
ALTER TABLE "registry_user" ADD COLUMN "directory_suspended_at" text;
--> statement-breakpoint
CREATE TABLE "scim_user" (
  "id" text PRIMARY KEY NOT NULL,
  "user_id" text NOT NULL REFERENCES "registry_user" ("id"),
  "issuer" text NOT NULL,
  "user_name" text NOT NULL,
  "user_name_key" text NOT NULL,
  "external_id" text,
  "attributes" text NOT NULL,
  "created_at" text NOT NULL,
  "changed_at" text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "scim_user_user" ON "scim_user" ("user_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "scim_user_name" ON "scim_user" ("issuer", "user_name_key");
--> statement-breakpoint
CREATE INDEX "scim_user_external_id" ON "scim_user" ("issuer", "external_id");
--> statement-breakpoint
CREATE TABLE "scim_group" (
  "id" text PRIMARY KEY NOT NULL,
  "issuer" text NOT NULL,
  "name" text NOT NULL,
  "name_key" text NOT NULL,
  "external_id" text,
  "created_at" text NOT NULL,
  "changed_at" text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "scim_group_name" ON "scim_group" ("issuer", "name_key");
--> statement-breakpoint
CREATE INDEX "scim_group_external_id" ON "scim_group" ("issuer", "external_id");
--> statement-breakpoint
CREATE TABLE "scim_member" (
  "group_id" text NOT NULL REFERENCES "scim_group" ("id") ON DELETE CASCADE,
  "member_id" text NOT NULL REFERENCES "scim_user" ("id") ON DELETE CASCADE,
  PRIMARY KEY ("group_id", "member_id")
);
--> statement-breakpoint
CREATE INDEX "scim_member_user" ON "scim_member" ("member_id");
