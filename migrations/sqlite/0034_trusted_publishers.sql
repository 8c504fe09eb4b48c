CREATE TABLE "trusted_publisher" (
  "id" text PRIMARY KEY NOT NULL,
  "group_name" text NOT NULL,
  "kind" text,
  "provider" text NOT NULL,
  "issuer" text NOT NULL,
  "settings" text NOT NULL,
  "pins" text NOT NULL,
  "keys" text,
  "team" text,
  "created_at" text NOT NULL,
  "created_by" text NOT NULL,
  "expires_at" text,
  "last_used_at" text
);
--> statement-breakpoint
CREATE TABLE "used_identity_token" (
  "issuer" text NOT NULL,
  "token_key" text NOT NULL,
  "expires_at" text NOT NULL,
  PRIMARY KEY ("issuer", "token_key")
);
--> statement-breakpoint
CREATE INDEX "used_identity_token_expires_at" ON "used_identity_token" ("expires_at");
--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "run" text;
--> statement-breakpoint
CREATE TABLE "release_run" (
  "release" integer PRIMARY KEY NOT NULL REFERENCES "release" ("id") ON DELETE cascade,
  "run" text NOT NULL
);
