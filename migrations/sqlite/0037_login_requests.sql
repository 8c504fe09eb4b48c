CREATE TABLE "login_request" (
  "hash" text PRIMARY KEY NOT NULL,
  "code" text NOT NULL,
  "client" text NOT NULL,
  "address" text NOT NULL,
  "network" text NOT NULL,
  "created_at" text NOT NULL,
  "expires_at" text NOT NULL,
  "state" text NOT NULL,
  "approval" text
);
--> statement-breakpoint
CREATE UNIQUE INDEX "login_request_code" ON "login_request" ("code");
--> statement-breakpoint
CREATE INDEX "login_request_created_at" ON "login_request" ("created_at");
--> statement-breakpoint
CREATE INDEX "login_request_network" ON "login_request" ("network");
