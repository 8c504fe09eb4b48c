import { KrmhubError } from '@krmhub/schema/error';
import { INDEX, LEGACY_INDEX, LEGACY_PATH, PACKAGE_PATH, PATH } from '../resource-list/annotations.js';
import { readIndex } from '../resource-list/decode.js';
import { defaultPath } from '../resource-list/default-path.js';
import type { ResourceIdentity, ResourcePlace } from '../resource-list/identity.js';
import type { Resource } from '../resource-list/resource.js';
import type { StepInput } from './step-input.js';

/** Returns where a function wants a resource to be. A resource without a path gets one from its name. */
export function outputPlace(
  identity: ResourceIdentity,
  origin: Resource | undefined,
  { packagePath, name }: StepInput,
): ResourcePlace {
  const { annotations } = identity;
  const index = origin?.index === undefined ? undefined : String(origin.index);
  const path = followed(annotations, PATH, LEGACY_PATH, origin?.path, name);
  // As kpt, for which that is a folder. Without the annotations, a resource is a new one.
  if (path === undefined && [PATH, LEGACY_PATH].some((one) => annotations[one] !== undefined)) {
    const what = `${identity.kind} ${JSON.stringify(identity.name)}`;
    throw new KrmhubError('function-failed', `function ${name} set the path of ${what} to an empty text`, {
      hint: 'Keep the path annotations in the function, or remove them for a new file.',
    });
  }
  // A render of kpt joins an absolute path with the folder of the package.
  const file = (packagePath === '' ? path : path?.replace(/^\/+/, '')) || defaultPath(identity);
  return {
    path: file,
    index: readIndex(followed(annotations, INDEX, LEGACY_INDEX, index, name)),
    packagePath: annotations[PACKAGE_PATH] || packagePath,
  };
}

/** An annotation has two names. Where a function changed or set only one, the other follows. */
function followed(
  annotations: Readonly<Record<string, string>>,
  internalName: string,
  legacyName: string,
  before: string | undefined,
  name: string,
): string | undefined {
  const internal = annotations[internalName] || undefined;
  const legacy = annotations[legacyName] || undefined;
  if (internal === undefined || legacy === undefined || internal === legacy) return internal ?? legacy;
  if (legacy === before) return internal;
  if (internal === before) return legacy;
  throw new KrmhubError(
    'function-failed',
    `function ${name} set ${internalName} to ${JSON.stringify(internal)}, but ${legacyName} to ${JSON.stringify(legacy)}`,
  );
}
