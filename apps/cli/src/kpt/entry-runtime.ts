import type { PinnedRuntime } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema/error';
import { parseImageReference } from '@krmhub/schema/image-reference';
import type { Resolution } from '../resolve/resolution.js';
import type { EntryRuntime } from './edit-kptfile.js';
import { execLine } from './exec-line.js';

/** What an entry of a pipeline gets for a resolved function, and what kpt does not do for it. */
export interface FilledRuntime extends EntryRuntime {
  warnings: string[];
}

/** Throws `unsupported` for what kpt cannot run. */
export function entryRuntime({ apiVersion, kind, runtime, warnings }: Resolution): FilledRuntime {
  const pinned = runtime as PinnedRuntime;
  if (pinned.type === 'container') {
    const more = [
      ...(pinned.network ? ['it requires network access: run kpt fn render with --allow-network'] : []),
      ...(pinned.storage ? ['it requires mounts, which kpt fn render does not support'] : []),
    ];
    return { field: 'image', value: qualified(pinned.image), warnings: [...warnings, ...more] };
  }
  if (pinned.type === 'exec') {
    return { field: 'exec', value: execLine(pinned.platforms), warnings };
  }
  throw new KrmhubError(
    'unsupported',
    `kpt cannot run ${apiVersion} ${kind}: its only runtime is a Starlark script`,
    {
      hint: 'Ask its publisher for a container or an executable.',
    },
  );
}

/** kpt looks for an image without a slash in its own registry, container engines in that of Docker. */
export function qualified(image: string): string {
  const reference = parseImageReference(image);
  if (!reference.ok || reference.host !== undefined) return image;
  return reference.repository.includes('/') ? image : `docker.io/library/${image}`;
}
