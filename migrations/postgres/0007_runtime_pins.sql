CREATE TABLE "release_pin" (
  "release" bigint NOT NULL REFERENCES "release" ("id") ON DELETE CASCADE,
  "pin" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("release", "pin")
);
CREATE INDEX "release_pin_name" ON "release_pin" ("pin");
CREATE TABLE "takedown_pin" (
  "takedown" bigint NOT NULL REFERENCES "takedown" ("id"),
  "pin" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("takedown", "pin")
);
CREATE INDEX "takedown_pin_name" ON "takedown_pin" ("pin");
-- As `runtimePins` reads a definition.
INSERT INTO "release_pin" ("release", "pin")
  SELECT DISTINCT "release"."id", "named"."pin"
  FROM "release", LATERAL json_array_elements("definition"::json -> 'versions') AS "version", LATERAL (
    SELECT 'sha256:' || substring("version" #>> '{runtime,container,sha256}' FROM '^[a-f0-9]{64}$')
    UNION SELECT 'sha256:' || substring("version" #>> '{runtime,container,image}' FROM '@sha256:([a-f0-9]{64})$')
    UNION SELECT 'sha256:' || substring("platform" ->> 'sha256' FROM '^[a-f0-9]{64}$')
      FROM json_array_elements(coalesce("version" #> '{runtime,exec,platforms}', '[]'::json)) AS "platform"
    UNION SELECT 'sha256:' || substring("platform" ->> 'uri'
        FROM '^oci://(?:localhost|[^/@]*[.:A-Z][^/@]*)/.*@sha256:([a-f0-9]{64})$')
      FROM json_array_elements(coalesce("version" #> '{runtime,exec,platforms}', '[]'::json)) AS "platform"
    UNION SELECT 'sha256:' || substring("version" #>> '{runtime,starlark}' FROM '#sha256=([a-f0-9]{64})$')
    UNION SELECT 'sha256:' || substring("version" #>> '{runtime,starlark}' FROM '^oci://.*@sha256:([a-f0-9]{64})$')
    UNION SELECT substring("version" #>> '{runtime,starlark}' FROM '^oci://(?:localhost|[^/@]*[.:A-Z][^/@]*)/([^@]*:[^@/]*)$')
    UNION SELECT substring("version" #>> '{runtime,starlark}' FROM '^oci://(?:localhost|[^/@]*[.:A-Z][^/@]*)/([^@:]*)$') || ':latest'
  ) AS "named" ("pin") WHERE "named"."pin" IS NOT NULL;
