CREATE TABLE "audit" (
  "sequence" bigint PRIMARY KEY NOT NULL,
  "at" timestamptz NOT NULL,
  "actor" text COLLATE "C" NOT NULL,
  "action" text COLLATE "C" NOT NULL,
  "object" text COLLATE "C" NOT NULL,
  "outcome" text COLLATE "C" NOT NULL,
  "credential" text COLLATE "C",
  "address" text COLLATE "C",
  "request_id" text COLLATE "C",
  "detail" text COLLATE "C",
  "hash" text COLLATE "C" NOT NULL
);
--> statement-breakpoint
CREATE INDEX "audit_at" ON "audit" ("at", "sequence");
--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "revoked_by" text COLLATE "C";
