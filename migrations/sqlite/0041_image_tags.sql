UPDATE "upstream_function" SET "images" = image_names("shown"."json")
  FROM "entry" AS "shown" WHERE "shown"."digest" = "upstream_function"."entry";
