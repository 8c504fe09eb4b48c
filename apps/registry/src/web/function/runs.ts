import { type DeclaredProgram, eachRuntime, unpinnedReferences } from '@krmhub/catalog';
import { type FunctionVersion, parseImageReference, RUNTIMES, type RuntimeKind } from '@krmhub/schema';
import type { Tone } from '../parts/label.js';

/** What one runtime of a function runs. */
export interface RunFact {
  words: string;
  tone: Tone;
  /** The digest that pins it, if there is one. */
  digest?: string;
  /** The image without its digest, the script, or the platforms of the executables. */
  name: string;
}

/** Returns for each runtime whether a digest pins what it runs, or what can move. */
export function runFacts({ runtime }: FunctionVersion): RunFact[] {
  return eachRuntime(runtime, (rules, declared, kind) => {
    const { noun } = RUNTIMES[kind];
    const programs = rules.programs(declared);
    const name = programName(programs);
    const loose = unpinnedReferences({ runtime: { [kind]: declared } });
    if (loose.length > 0) return { words: looseWords(kind, programs, loose), tone: 'warning', name };
    const [first, ...others] = programs;
    if (first === undefined || others.length > 0)
      return { words: `${programs.length} ${noun}s pinned`, tone: 'good', name };
    // The digest in the reference of an executable is that of a manifest.
    const digest = kind === 'container' ? (first.inside ?? first.beside) : (first.beside ?? first.inside);
    const words = kind === 'container' ? 'pinned' : `${noun} pinned`;
    return { words, tone: 'good', digest: `sha256:${digest}`, name };
  });
}

function programName(programs: readonly DeclaredProgram[]): string {
  const platforms = programs.flatMap(({ platform }) => platform ?? []);
  return platforms.length > 0
    ? platforms.join(', ')
    : (programs[0]?.reference ?? '').replace(/[@#]sha256[:=].*$/, '');
}

function looseWords(
  kind: RuntimeKind,
  programs: readonly DeclaredProgram[],
  loose: readonly string[],
): string {
  const { noun } = RUNTIMES[kind];
  if (kind === 'container') {
    const reference = parseImageReference(loose[0]!);
    return reference.ok ? `tag ${reference.tag ?? 'latest'} can move` : 'not a valid image';
  }
  // One of several, each for a platform.
  if (programs[0]!.platform === undefined) return `${noun} can change`;
  return loose.length === 1 ? `an ${noun} can change` : `${loose.length} ${noun}s can change`;
}
