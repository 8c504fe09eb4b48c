import path from 'node:path';
import type { Environment } from '@krmhub/consume/ports';
import { type Engine, type RunLimits, runContainerCommand, runInPlace } from '@krmhub/functions';
import { identifyImage } from '@krmhub/functions/containers/identify-image';
import type { InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import { findProgram } from '@krmhub/functions/process/find-program';
import { byType } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { childEnvironment } from '../../io/child-environment.js';
import type { Io } from '../../io/io.js';
import type { PlannedFunction } from './planned-function.js';

/** What runtimes need that functionConfigs name themselves. */
export interface InlineContext {
  /** Finds the container engine, once. */
  engine(): Promise<Engine>;
  limits: RunLimits;
  /** Called before an image runs that has no digest, with the exact image. */
  onExact(image: string, exact: string): Promise<void>;
  /** Turns paths of the copy into those of the user. */
  mapPaths(text: string): string;
}

/**
 * Returns how an inline runtime runs: as kustomize would run it. A container gets the arguments that kustomize chose,
 * from its own flags. An executable runs where it is, in the folder of the layer, with the environment of the user.
 */
export function inlineRun(
  io: Io,
  runtime: InlineRuntime,
  layer: string,
  { engine, limits, mapPaths, onExact }: InlineContext,
): PlannedFunction['run'] {
  return byType<InlineRuntime, PlannedFunction['run']>(runtime, {
    container:
      (container) =>
      async ({ args, input }, signal) => {
        const found = await engine();
        const { image, exact } = await identifyImage(found, container.image, { signal });
        if (exact !== undefined && exact !== container.image) await onExact(container.image, exact);
        const [command = 'run', ...rest] = args.slice(0, -1).map(mapPaths);
        const argumentsFor = (name: string) => [command, '--name', name, ...rest, image];
        return runContainerCommand(found, { image, argumentsFor }, input, limits, signal);
      },
    exec:
      ({ path: program, args }) =>
      async ({ input }, signal) => {
        const file = await executable(io, program, layer);
        return runInPlace({ file, args, cwd: layer, env: childEnvironment(io) }, input, limits, signal);
      },
    starlark:
      (script) =>
      async ({ input }, signal) => {
        const { inlineScript } = await import('../../run/inline-script.js');
        const { runStarlark } = await import('@krmhub/functions/starlark/run-starlark');
        return runStarlark(await inlineScript(io, script, layer), input, limits, signal);
      },
  });
}

/** As Go finds a program: a path is relative to the working directory, a name is on PATH. */
async function executable({ env }: Environment, name: string, folder: string): Promise<string> {
  if (name.includes('/')) return path.resolve(folder, name);
  const found = await findProgram(name, env);
  if (found !== undefined) return found;
  throw new KrmhubError('not-found', `the executable ${name} is not on PATH`, {
    hint: `Use a path with a slash for a file in ${folder}: ./${name}`,
  });
}
