import { unpinnedReferences } from '@krmhub/catalog';
import { type FunctionVersion, ociDigest, parseImageReference } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { readScriptReference } from '@krmhub/schema/script-reference';
import type { Tone } from '../parts/label.js';

/** What one runtime of a function runs. */
export interface RunFact {
  words: string;
  tone: Tone;
  /** The digest that pins it, if there is one. */
  digest?: string;
}

/** Returns for each runtime whether a digest pins what it runs, or what can move. */
export function runFacts({ runtime }: Pick<FunctionVersion, 'runtime'>): RunFact[] {
  const { container, exec, starlark } = runtime;
  const facts: RunFact[] = [];
  if (container !== undefined) {
    const reference = parseImageReference(container.image);
    const inside = reference.ok ? reference.digest : undefined;
    const tag = reference.ok ? (reference.tag ?? 'latest') : undefined;
    facts.push(
      isPinned({ container })
        ? pinned('', inside ?? `sha256:${container.sha256}`)
        : { words: tag === undefined ? 'not a valid image' : `tag ${tag} can move`, tone: 'warning' },
    );
  }
  if (exec !== undefined) {
    const loose = unpinnedReferences({ runtime: { exec } }).length;
    const [first, ...others] = exec.platforms;
    const digest = first?.sha256 === undefined ? ociDigest(first?.uri ?? '') : first.sha256;
    facts.push(
      loose > 0
        ? {
            words: loose === 1 ? 'an executable can change' : `${loose} executables can change`,
            tone: 'warning',
          }
        : others.length === 0 && digest !== undefined
          ? pinned('executable ', `sha256:${digest}`)
          : pinned(`${exec.platforms.length} executables `),
    );
  }
  if (starlark !== undefined) {
    const { digest } = readScriptReference(starlark);
    facts.push(
      isPinned({ starlark })
        ? pinned('script ', `sha256:${digest}`)
        : { words: 'script can change', tone: 'warning' },
    );
  }
  return facts;
}

function isPinned(runtime: FunctionVersion['runtime']): boolean {
  return unpinnedReferences({ runtime }).length === 0;
}

function pinned(what: string, digest?: string): RunFact {
  return { words: `${what}pinned`, tone: 'good', ...defined({ digest }) };
}
