CREATE TABLE "setting" (
  "name" text PRIMARY KEY NOT NULL,
  "value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "operator_session" (
  "id" integer PRIMARY KEY NOT NULL,
  "hash" text NOT NULL,
  "token_hash" text NOT NULL,
  "expires_at" text NOT NULL
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
