CREATE TABLE "registry_user" (
  "id" text PRIMARY KEY NOT NULL,
  "issuer" text NOT NULL,
  "subject" text NOT NULL,
  "name" text NOT NULL,
  "email" text,
  "groups" text NOT NULL,
  "created_at" text NOT NULL,
  "confirmed_at" text NOT NULL,
  "signed_in_at" text,
  "suspended_at" text,
  "suspended_by" text
);
--> statement-breakpoint
CREATE UNIQUE INDEX "registry_user_identity" ON "registry_user" ("issuer", "subject");
--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "user_id" text REFERENCES "registry_user" ("id");
--> statement-breakpoint
CREATE INDEX "token_user" ON "token" ("user_id") WHERE "user_id" IS NOT NULL;
--> statement-breakpoint
DROP TABLE IF EXISTS "one_time_secret";
--> statement-breakpoint
DROP TABLE IF EXISTS "operator_session";
--> statement-breakpoint
CREATE TABLE "operator_session" (
  "id" integer PRIMARY KEY NOT NULL,
  "hash" text NOT NULL,
  "token_hash" text,
  "user_id" text REFERENCES "registry_user" ("id") ON DELETE CASCADE,
  "created_at" text NOT NULL,
  "expires_at" text NOT NULL,
  "refreshed_at" text,
  "refresh_token" text,
  "address" text
);
--> statement-breakpoint
CREATE UNIQUE INDEX "operator_session_hash" ON "operator_session" ("hash");
--> statement-breakpoint
CREATE TABLE "one_time_secret" (
  "id" integer PRIMARY KEY NOT NULL,
  "session" integer NOT NULL REFERENCES "operator_session" ("id") ON DELETE CASCADE,
  "token" text NOT NULL,
  "sealed" text NOT NULL,
  "expires_at" text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "one_time_secret_token" ON "one_time_secret" ("session", "token");
