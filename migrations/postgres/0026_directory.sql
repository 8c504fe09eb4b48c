ALTER TABLE "registry_user" ADD COLUMN "directory_groups" text COLLATE "C";
--> statement-breakpoint
ALTER TABLE "registry_user" ADD COLUMN "directory_suspended_at" timestamptz;
--> statement-breakpoint
CREATE TABLE "scim_user" (
  "id" text COLLATE "C" PRIMARY KEY NOT NULL,
  "user_id" text COLLATE "C" NOT NULL REFERENCES "registry_user" ("id"),
  "issuer" text COLLATE "C" NOT NULL,
  "user_name" text COLLATE "C" NOT NULL,
  "user_name_key" text COLLATE "C" NOT NULL,
  "external_id" text COLLATE "C",
  "attributes" text COLLATE "C" NOT NULL,
  "created_at" timestamptz NOT NULL,
  "changed_at" timestamptz NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "scim_user_user" ON "scim_user" ("user_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "scim_user_name" ON "scim_user" ("issuer", "user_name_key");
--> statement-breakpoint
CREATE INDEX "scim_user_external_id" ON "scim_user" ("issuer", "external_id");
--> statement-breakpoint
CREATE TABLE "scim_group" (
  "id" text COLLATE "C" PRIMARY KEY NOT NULL,
  "issuer" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "name_key" text COLLATE "C" NOT NULL,
  "external_id" text COLLATE "C",
  "created_at" timestamptz NOT NULL,
  "changed_at" timestamptz NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "scim_group_name" ON "scim_group" ("issuer", "name_key");
--> statement-breakpoint
CREATE INDEX "scim_group_external_id" ON "scim_group" ("issuer", "external_id");
--> statement-breakpoint
CREATE TABLE "scim_member" (
  "group_id" text COLLATE "C" NOT NULL REFERENCES "scim_group" ("id") ON DELETE CASCADE,
  "member_id" text COLLATE "C" NOT NULL REFERENCES "scim_user" ("id") ON DELETE CASCADE,
  PRIMARY KEY ("group_id", "member_id")
);
--> statement-breakpoint
CREATE INDEX "scim_member_user" ON "scim_member" ("member_id");
