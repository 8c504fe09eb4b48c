import type { RunResult } from '@krmhub/functions';
import type { ListedFunction } from '../../function-configs/layers.js';

/** A functionConfig, for messages. */
export interface ConfigPlace {
  /** `FILE:LINE`. */
  position: string;
  /** `APIVERSION KIND`. */
  name: string;
}

export function placeText({ position, name }: ConfigPlace): string {
  return `${position}: ${name}`;
}

/** A functionConfig of the build, and how its function runs. */
export interface PlannedFunction {
  listed: ListedFunction;
  place: ConfigPlace;
  /** The function annotation of the copy of the functionConfig. */
  annotation: string;
  /** Keep the annotation that it has. */
  keepsAnnotation: boolean;
  /** Image that kustomize asks `docker` to run. */
  image: string;
  /** Whether kustomize needs a flag that allows the network. */
  network: boolean;
  /** Why it has less access than the user allowed: for the message if it fails. */
  notes: readonly string[];
  /** Runs it. `args` are those of `docker`. */
  run(call: { args: readonly string[]; input: Uint8Array }, signal: AbortSignal): Promise<RunResult>;
}

/** Text of the function annotation, as its documentation writes it. */
export function containerAnnotation(image: string, network: boolean): string {
  return `container:\n  image: ${image}\n${network ? '  network: true\n' : ''}`;
}

/**
 * An image for what has none: executables, and validators, whose output is not what kustomize gets. No registry can
 * have this name (RFC 6761).
 */
export function placeholderImage(index: number): string {
  return `krmhub.invalid/function-${index}`;
}
