CREATE TABLE "access" (
  "id" bigint PRIMARY KEY NOT NULL CHECK ("id" = 1),
  "revision" bigint NOT NULL,
  "text" text COLLATE "C" NOT NULL,
  "applied_at" timestamptz NOT NULL,
  "applied_by" text COLLATE "C" NOT NULL
);
ALTER TABLE "token" ADD COLUMN "team" text COLLATE "C";
INSERT INTO "access" ("id", "revision", "text", "applied_at", "applied_by")
SELECT 1, 1, 'apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  # An earlier version of krmhub opened every group to each token that may publish in it.
  openGroups: ["*"]
', date_trunc('milliseconds', now()), 'krmhub'
WHERE EXISTS (SELECT 1 FROM "token");
