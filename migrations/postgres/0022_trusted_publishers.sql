CREATE TABLE "trusted_publisher" (
  "id" text COLLATE "C" PRIMARY KEY NOT NULL,
  "group_name" text COLLATE "C" NOT NULL,
  "kind" text COLLATE "C",
  "provider" text COLLATE "C" NOT NULL,
  "issuer" text COLLATE "C" NOT NULL,
  "settings" text COLLATE "C" NOT NULL,
  "pins" text COLLATE "C" NOT NULL,
  "keys" text COLLATE "C",
  "team" text COLLATE "C",
  "created_at" timestamptz NOT NULL,
  "created_by" text COLLATE "C" NOT NULL,
  "expires_at" timestamptz,
  "last_used_at" timestamptz
);
--> statement-breakpoint
CREATE TABLE "used_identity_token" (
  "issuer" text COLLATE "C" NOT NULL,
  "token_key" text COLLATE "C" NOT NULL,
  "expires_at" timestamptz NOT NULL,
  PRIMARY KEY ("issuer", "token_key")
);
--> statement-breakpoint
CREATE INDEX "used_identity_token_expires_at" ON "used_identity_token" ("expires_at");
--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "run" text COLLATE "C";
--> statement-breakpoint
CREATE TABLE "release_run" (
  "release" bigint PRIMARY KEY NOT NULL REFERENCES "release" ("id") ON DELETE CASCADE,
  "run" text COLLATE "C" NOT NULL
);
