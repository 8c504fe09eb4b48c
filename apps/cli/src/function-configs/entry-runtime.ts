import type { PinnedRuntime } from '@krmhub/catalog';
import type { Resolution } from '@krmhub/consume/resolve/resolution';
import type { InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import { byType } from '@krmhub/schema/definition';
import { fullRepository, parseImageReference } from '@krmhub/schema/image-reference';
import { execLine, isExecLine, scriptLine } from './exec-line.js';

/** What runs a function of a pipeline: an image, or a command line. */
export interface EntryRuntime {
  field: 'image' | 'exec';
  value: string;
}

/** What an entry of a pipeline gets for a resolved function, and what kpt does not do for it. */
export interface FilledRuntime extends EntryRuntime {
  warnings: string[];
}

/** Executables and scripts run through `krmhub kpt exec`. */
export function entryRuntime({ runtime, warnings }: Pick<Resolution, 'runtime' | 'warnings'>): FilledRuntime {
  const exec = (value: string): FilledRuntime => ({ field: 'exec', value, warnings });
  return byType(runtime as PinnedRuntime, {
    container({ image, network, storage }) {
      const more = [
        ...(network ? ['it requires network access: run kpt fn render with --allow-network'] : []),
        ...(storage ? ['it requires mounts, which kpt fn render does not support'] : []),
      ];
      return { field: 'image', value: qualified(image), warnings: [...warnings, ...more] };
    },
    exec: ({ platforms }) => exec(execLine(platforms)),
    starlark: (script) => exec(scriptLine(script)),
  });
}

/** kpt looks for an image without a slash in its own registry, container engines in that of Docker. */
export function qualified(image: string): string {
  const reference = parseImageReference(image);
  if (!reference.ok || reference.host !== undefined) return image;
  return reference.repository.includes('/') ? image : `docker.io/library/${image}`;
}

/** Reports whether a Kptfile can have a runtime from `krmhub kpt sync`: an image by digest, or a line of ours. */
export function mayBeSynced(written: InlineRuntime): boolean {
  if (written.type === 'container') return written.image.includes('@');
  return written.type === 'exec' && isExecLine(written.path);
}

/**
 * Compares what a Kptfile runs with the function that a catalog has for its functionConfig: `same`, another state of it
 * (`outdated`), which `krmhub kpt sync` updates, or something else (`other`).
 */
export function compareWritten(
  written: InlineRuntime,
  resolution: Pick<Resolution, 'runtime'>,
): 'same' | 'outdated' | 'other' {
  const { field, value } = entryRuntime({ ...resolution, warnings: [] });
  if (!mayBeSynced(written)) return 'other';
  if (written.type === 'container') {
    if (field !== 'image' || fullRepository(written.image) !== fullRepository(value)) return 'other';
    return imageDigest(written.image) === imageDigest(value) ? 'same' : 'outdated';
  }
  if (field !== 'exec' || written.type !== 'exec') return 'other';
  return written.path === value ? 'same' : 'outdated';
}

function imageDigest(image: string): string {
  return image.slice(image.indexOf('@') + 1);
}
