import type { LockedFunctions } from '@krmhub/catalog';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { imageAt, requiredDigest } from '@krmhub/consume/resolve/images/named-image';
import type { Resolution, Resolver } from '@krmhub/consume/resolve/resolution';
import type { InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { type Layer, type ListedFunction, listFunctions } from '../../function-configs/layers.js';
import type { Io } from '../../io/io.js';
import { printWarning } from '../../io/print.js';
import { checkListed } from '../../lock/config-check.js';
import { displayListed } from '../../lock/display-path.js';
import { planAll } from '../../run/permissions.js';
import { requireInlineAllowed } from './inline-runtimes.js';
import type { KustomizeArguments } from './kustomize-arguments.js';
import {
  type ConfigPlace,
  containerAnnotation,
  type PlannedFunction,
  placeholderImage,
  placeText,
} from './planned-function.js';
import { type InlineContext, inlineRun } from './run-inline.js';

export interface PlanContext extends InlineContext {
  resolver: Resolver;
  args: KustomizeArguments;
  lock: LockedFunctions | undefined;
  requireDigest: boolean;
  /** Locks the kustomization, for hints. */
  lockCommand: string;
  signal: AbortSignal;
}

/**
 * Finds, verifies and fetches the function of every functionConfig. Nothing runs yet. Throws for the first that cannot
 * run.
 */
export async function planFunctions(io: Io, layer: Layer, context: PlanContext): Promise<PlannedFunction[]> {
  const listed = listFunctions(layer);
  const inline = listed.flatMap((one) => (one.request.inline === undefined ? [] : [one]));
  const [flag] = context.args.containerFlags;
  if (flag !== undefined && inline.length < listed.length)
    await printWarning(io, `${flag} after -- applies only to functions with their own image`);
  const warned = new Set<string>();
  return planAll(listed.entries(), async ([index, one]) => {
    context.signal.throwIfAborted();
    const place = configPlace(io, one);
    if (one.request.inline !== undefined) {
      requireInlineAllowed(placeText(place), one.request.inline, context.args);
    }
    const plan = one.request.inline === undefined ? planResolved : planInline;
    return inContext(place, () => plan(io, { listed: one, place, index, warned }, context));
  });
}

interface Planning {
  listed: ListedFunction;
  place: ConfigPlace;
  index: number;
  /** What was said, with the catalog that said it. */
  warned: Set<string>;
}

async function planInline(io: Io, planning: Planning, context: PlanContext): Promise<PlannedFunction> {
  const { listed, place, index } = planning;
  const runtime = listed.request.inline!;
  const isContainer = runtime.type === 'container' && listed.field !== 'validators';
  const image = isContainer ? runtime.image : placeholderImage(index);
  const network = runtime.type === 'container' && runtime.network;
  return {
    listed,
    place,
    image,
    network,
    annotation: containerAnnotation(image, network),
    keepsAnnotation: isContainer,
    notes: [],
    run: validating(listed, inlineRun(io, pinned(runtime, context), listed.layer, context)),
  };
}

/** The runtime with the digest of its image, if that has one, or the lock. Throws if there has to be one. */
function pinned(runtime: InlineRuntime, { lock, requireDigest, lockCommand }: PlanContext): InlineRuntime {
  if (runtime.type !== 'container') return runtime;
  const found = requiredDigest(runtime.image, lock, requireDigest, lockCommand);
  return found === undefined ? runtime : { ...runtime, image: imageAt(runtime.image, found.digest) };
}

async function planResolved(io: Io, planning: Planning, context: PlanContext): Promise<PlannedFunction> {
  const { listed, place, index, warned } = planning;
  const resolution = await context.resolver.resolve(listed.request);
  const unchecked = await checkListed(io, listed, resolution);
  if (unchecked !== undefined) await printWarning(io, escapeControls(unchecked));
  for (const warning of resolution.warnings) {
    const known = `${resolutionKey(resolution)} ${warning}`;
    if (!warned.has(known)) await printWarning(io, escapeControls(aboutText(place, warning)));
    warned.add(known);
  }
  const ready = await context.runner.entry(resolution);
  const annotation = ready.annotation();
  const container = 'container' in annotation ? annotation.container : undefined;
  const image =
    container !== undefined && listed.field !== 'validators' ? container.image : placeholderImage(index);
  const network = container?.network === true;
  return {
    listed,
    place,
    image,
    network,
    annotation: containerAnnotation(image, network),
    keepsAnnotation: false,
    notes: ready.notes,
    run: validating(listed, ({ input }, signal) => ready.run(input, { folder: listed.layer, signal })),
  };
}

function resolutionKey({ apiVersion, kind, catalog, runtime }: Resolution): string {
  return JSON.stringify([apiVersion, kind, catalog?.reference, runtime]);
}

/**
 * kustomize refuses every function under `validators`, because it marks the resources itself
 * (kubernetes-sigs/kustomize#5036). Here they run after the transformers, and their changes are dropped, as in kpt.
 */
function validating({ field }: ListedFunction, run: PlannedFunction['run']): PlannedFunction['run'] {
  if (field !== 'validators') return run;
  return async (call, signal) => {
    const result = await run(call, signal);
    return result.exitCode === 0 ? { ...result, output: call.input } : result;
  };
}

function configPlace(io: WorkingFolder, listed: ListedFunction): ConfigPlace {
  const { line, request } = listed;
  return {
    position: `${displayListed(io, listed).file}:${line}`,
    name: `${request.apiVersion} ${request.kind}`,
  };
}

async function inContext<Result>(place: ConfigPlace, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw aboutFunction(place, error);
  }
}

/** Returns an error that says which functionConfig it is about. */
export function aboutFunction(place: ConfigPlace, error: unknown): unknown {
  if (!(error instanceof KrmhubError)) return error;
  const { code, message, hint, diagnostics } = error;
  return new KrmhubError(code, aboutText(place, message), {
    diagnostics,
    cause: error,
    ...defined({ hint }),
  });
}

/** Says which functionConfig a message is about. Most messages name the function themselves. */
function aboutText(place: ConfigPlace, message: string): string {
  return `${message.includes(place.name) ? place.position : placeText(place)}: ${message}`;
}
