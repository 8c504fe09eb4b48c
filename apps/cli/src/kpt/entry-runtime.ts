import type { PinnedRuntime } from '@krmhub/catalog';
import { parseImageReference } from '@krmhub/schema/image-reference';
import type { Resolution } from '../resolve/resolution.js';
import type { EntryRuntime } from './edit-kptfile.js';
import { execLine, scriptLine } from './exec-line.js';

/** What an entry of a pipeline gets for a resolved function, and what kpt does not do for it. */
export interface FilledRuntime extends EntryRuntime {
  warnings: string[];
}

/** Executables and scripts run through `krmhub kpt exec`. */
export function entryRuntime({ runtime, warnings }: Resolution): FilledRuntime {
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
  return { field: 'exec', value: scriptLine(pinned), warnings };
}

/** kpt looks for an image without a slash in its own registry, container engines in that of Docker. */
export function qualified(image: string): string {
  const reference = parseImageReference(image);
  if (!reference.ok || reference.host !== undefined) return image;
  return reference.repository.includes('/') ? image : `docker.io/library/${image}`;
}
