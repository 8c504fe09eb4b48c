import { z } from '@hono/zod-openapi';
import { exactOptional } from './base-model.js';
import * as parameters from './parameters.js';

/** The JSON of reports about packages that use functions. */

/** Fields from the functionConfig, with `[*]` for the items of a list, and `*` for keys that the schema does not declare. */
const FIELD = /^[\w$*-]+(?:\[\*\])*(?:\.[\w$*-]+(?:\[\*\])*)*$/;

const ConsumedRelease = z.object({
  group: parameters.Group,
  kind: parameters.Kind,
  version: parameters.ApiVersion.openapi({ description: 'API version of the functionConfig' }),
  release: parameters.ReleaseName,
  fields: exactOptional(
    z
      .array(
        z.string().max(parameters.REQUEST_LIMITS.maxFilterLength).regex(FIELD, 'is not the path of a field'),
      )
      .max(parameters.REQUEST_LIMITS.maxReportedFields)
      .openapi({
        description:
          'Paths of the fields that the functionConfigs set, as the schema declares them, without values: `spec.items[*].name`, with `*` for keys that it does not declare',
        example: ['labels.*', 'selector'],
      }),
  ),
});

export const ConsumerReport = z
  .object({
    name: z
      .string()
      .max(300)
      .regex(
        /^(?:sha256:[a-f0-9]{64}|[A-Za-z0-9][\w./~@+#-]*)$/,
        'is neither a sha256 digest nor a name of letters, digits, and . _ - / ~ @ + #',
      )
      .openapi({
        description: 'Of the package: a hash of its repository and folder, or a public name',
        example: 'github.com/example/shop#apps/web',
      }),
    releases: z.array(ConsumedRelease).max(parameters.REQUEST_LIMITS.maxReportedReleases).openapi({
      description: 'What the package locks. An empty list deletes the report',
    }),
  })
  .openapi('ConsumerReport');

export const ConsumerResult = z
  .object({
    outcome: z.enum(['changed', 'unchanged']),
    releases: z.number().int().openapi({
      description: 'Counted releases: those that this registry has, and that the client may read',
    }),
  })
  .openapi('ConsumerResult');

const packages = z.number().int().openapi({ description: 'Number of packages' });

export const FunctionConsumers = z
  .object({
    packages,
    releases: z.array(z.object({ version: z.string(), release: z.string(), packages })),
    fields: z.array(z.object({ version: z.string(), field: z.string(), packages })).openapi({
      description: 'Of the packages that reported the fields that they use',
    }),
    names: z.array(z.string()).openapi({ description: 'Names of public packages' }),
  })
  .openapi('FunctionConsumers', {
    description: 'Packages that reported in the last 90 days that they lock a release',
  });

export type ConsumerReport = z.input<typeof ConsumerReport>;
export type ConsumerResult = z.infer<typeof ConsumerResult>;
export type FunctionConsumers = z.infer<typeof FunctionConsumers>;
