CREATE TABLE "login_request" (
  "hash" text COLLATE "C" PRIMARY KEY NOT NULL,
  "code" text COLLATE "C" NOT NULL,
  "client" text COLLATE "C" NOT NULL,
  "address" text COLLATE "C" NOT NULL,
  "network" text COLLATE "C" NOT NULL,
  "created_at" timestamptz NOT NULL,
  "expires_at" timestamptz NOT NULL,
  "state" text COLLATE "C" NOT NULL,
  "approval" text COLLATE "C"
);
--> statement-breakpoint
CREATE UNIQUE INDEX "login_request_code" ON "login_request" ("code");
--> statement-breakpoint
CREATE INDEX "login_request_created_at" ON "login_request" ("created_at");
--> statement-breakpoint
CREATE INDEX "login_request_network" ON "login_request" ("network");
