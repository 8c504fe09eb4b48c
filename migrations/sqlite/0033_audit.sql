CREATE TABLE "audit" (
  "sequence" integer PRIMARY KEY NOT NULL,
  "at" text NOT NULL,
  "actor" text NOT NULL,
  "action" text NOT NULL,
  "object" text NOT NULL,
  "outcome" text NOT NULL,
  "credential" text,
  "address" text,
  "request_id" text,
  "detail" text,
  "hash" text NOT NULL
);
--> statement-breakpoint
CREATE INDEX "audit_at" ON "audit" ("at");
--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "revoked_by" text;
