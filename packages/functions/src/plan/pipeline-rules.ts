import { compileCondition } from '@krmhub/schema/cel/expression';
import { KrmhubError } from '@krmhub/schema/error';
import type { Kptfile, PipelineFunction } from './kptfile-content.js';
import { fileMatcher } from './selectors.js';
import { isFunctionImage } from './step-image.js';

/** A resource in a file, for the rules on `configPath`. */
export interface ConfigCandidate {
  /** File, relative to the folder of the package, with `/`. */
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

/** Why an entry of a pipeline cannot run, in the words of kpt. */
export interface RuleProblem {
  /** Below the step, for example `.image`; empty for the step itself. */
  field: string;
  value?: string;
  reason: string;
}

/**
 * Checks the pipeline of a Kptfile before anything runs. `files` are the resources of the package itself, without those
 * of subpackages: a functionConfig must be one of them. An entry without `image` and `exec` is allowed if it has a
 * functionConfig, whose kind a catalog can have. Throws `invalid-document` for the first problem, in the words of kpt.
 */
export function checkPipeline(kptfile: Kptfile, files: readonly ConfigCandidate[]): void {
  for (const fn of kptfile.pipeline) {
    const problem = entryProblem(fn) ?? configProblem(fn, files);
    if (problem !== undefined) throw invalidKptfile(fn, problem);
  }
}

/** Returns what is wrong with a step itself, whatever files the package has. */
export function entryProblem(fn: PipelineFunction): RuleProblem | undefined {
  const { image, exec, configPath, configMap, configRef } = fn;
  if (image !== undefined && exec !== undefined) {
    return { field: '', reason: 'must not specify both `image` and `exec` at the same time' };
  }
  if (image === undefined && exec === undefined && configPath === undefined && configRef === undefined) {
    return { field: '', reason: 'must specify a functon (`image` or `exec`) to execute' };
  }
  if (image !== undefined && !isFunctionImage(image)) {
    return { field: '.image', value: image, reason: `function name "${image}" is invalid` };
  }
  if (configPath !== undefined && configMap !== undefined) {
    return {
      field: '',
      reason: 'functionConfig must not specify both `configMap` and `configPath` at the same time',
    };
  }
  if (configRef !== undefined && (configPath ?? configMap) !== undefined) {
    const reason = 'functionConfig must specify at most one of `configMap`, `configPath`, or `configRef`';
    return { field: '', reason };
  }
  for (const name of ['kind', 'name'] as const) {
    if (configRef === undefined || configRef[name] !== undefined) continue;
    return { field: `.configRef.${name}`, reason: `configRef must specify \`${name}\`` };
  }
  const reason = configPath === undefined ? undefined : pathProblem(configPath);
  if (reason !== undefined) return { field: '.configPath', value: configPath!, reason };
  return expressionProblem(fn) ?? conditionProblem(fn);
}

function conditionProblem({ when }: PipelineFunction): RuleProblem | undefined {
  const compiled = when === undefined ? undefined : compileCondition(when, ['resources']);
  if (compiled === undefined || !('problem' in compiled)) return undefined;
  return { field: '.when', value: when!, reason: `invalid CEL expression: ${compiled.problem}` };
}

function expressionProblem({
  resourceFileRegexp,
  selectors,
  exclude,
}: PipelineFunction): RuleProblem | undefined {
  const written: [field: string, expression: string | undefined][] = [
    ['.resourceFileRegexp', resourceFileRegexp],
    ...selectors.map((one, at) => [`.selectors[${at}].resourceFileRegexp`, one.resourceFileRegexp] as const),
    ...exclude.map((one, at) => [`.exclude[${at}].resourceFileRegexp`, one.resourceFileRegexp] as const),
  ].map(([field, expression]) => [field!, expression]);
  for (const [field, expression] of written) {
    if (expression === undefined) continue;
    try {
      fileMatcher(expression);
    } catch (error) {
      const reason = `invalid regular expression: ${(error as Error).message}`;
      return { field, value: expression, reason };
    }
  }
  return undefined;
}

function pathProblem(configPath: string): string | undefined {
  if (configPath.startsWith('/')) return 'path must be relative';
  const clean = cleanPath(configPath);
  return clean === '..' || clean.startsWith('../') ? 'path must not be outside the package' : undefined;
}

function configProblem(
  { configPath }: PipelineFunction,
  files: readonly ConfigCandidate[],
): RuleProblem | undefined {
  if (configPath === undefined) return undefined;
  const problem = (reason: string) => ({ field: '.configPath', value: configPath, reason });
  const clean = cleanPath(configPath);
  const found = files.filter(({ path }) => path === clean);
  const [config] = found;
  if (config === undefined) return problem('functionConfig must exist in the current package');
  if (found.length > 1) {
    return problem(
      `functionConfig "${configPath}" must not contain more than one config, got ${found.length}`,
    );
  }
  const missing = missingField(config);
  if (missing === undefined) return undefined;
  return problem(`functionConfig "${configPath}": resource must have \`${missing}\``);
}

/** The field that a KRM resource must have and this one lacks. */
export function missingField({ apiVersion, kind, name }: ConfigCandidate): string | undefined {
  if (apiVersion === '') return 'apiVersion';
  if (kind === '') return 'kind';
  return name === '' ? 'metadata.name' : undefined;
}

function invalidKptfile({ field, index }: PipelineFunction, problem: RuleProblem): KrmhubError {
  const lines = [
    'Kptfile is invalid:',
    `Field: \`pipeline.${field}[${index}]${problem.field}\``,
    ...(problem.value === undefined ? [] : [`Value: "${problem.value}"`]),
    `Reason: ${problem.reason}`,
  ];
  return new KrmhubError('invalid-document', lines.join('\n'));
}

/** Removes `.` and `..` from a relative path with `/`, as far as possible. */
export function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else parts.push(part);
  }
  return parts.length === 0 ? '.' : parts.join('/');
}
