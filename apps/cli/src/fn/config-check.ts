import { readResources } from '@krmhub/functions/fn';
import type { FunctionDefinition, JsonObject } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';

/**
 * Checks a functionConfig against the schema of its definition. Throws `invalid-document` with every problem: the
 * function does not run. `where` names the function.
 */
export async function checkFunctionConfig(
  where: string,
  definition: FunctionDefinition,
  apiVersion: string,
  functionConfig: string | undefined,
): Promise<void> {
  const value =
    functionConfig === undefined ? undefined : readResources(functionConfig, { path: '' })[0]?.value();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(where, ['it has no functionConfig']);
  }
  const { checkConfig } = await import('@krmhub/schema/config-fields/check-config');
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  const checked = checkConfig(definition, version, value as JsonObject);
  if (checked.result === 'unchecked' || checked.problems.length === 0) return;
  throw invalid(
    where,
    checked.problems.map(({ path, message }) => `${path === '' ? 'the functionConfig' : path} ${message}`),
  );
}

function invalid(where: string, problems: readonly string[]): KrmhubError {
  const [apiVersion = '', kind = ''] = where.split(' ');
  return new KrmhubError(
    'invalid-document',
    [
      `the functionConfig of ${where} does not satisfy the schema of its catalog`,
      ...problems.map((one) => `  ${one}`),
    ].join('\n'),
    { hint: `Show its fields: krmhub show ${apiVersion.replace(/\/[^/]*$/, '')}/${kind}` },
  );
}
