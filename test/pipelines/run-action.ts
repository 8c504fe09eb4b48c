import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, root } from '../running.js';

/** Runs the steps of a composite action as GitHub's runner does. */

export interface Step {
  id?: string;
  name: string;
  if?: string;
  shell?: string;
  run?: string;
  env?: Record<string, string>;
  /** Another action, which is not run. */
  uses?: string;
  with?: Record<string, string>;
}

export interface Action {
  inputs: Record<string, { description: string; default?: string }>;
  outputs: Record<string, { value: string }>;
  runs: { using: string; steps: Step[] };
}

export interface Result {
  code: number | null;
  log: string;
  commands: string[];
  outputs: Record<string, string>;
  /** Names of the steps that ran. */
  ran: string[];
  /** Values of the other actions, by the name of the step. */
  used: Record<string, Record<string, string>>;
}

const program = path.join(root, 'node_modules/.bin/krmhub');

export function readAction(folder: string): Action {
  return parse(readFileSync(path.join(folder, 'action.yml'), 'utf8')) as Action;
}

interface Values {
  inputs: Record<string, string>;
  /** Of the steps before, by the id of the step. */
  outputs: Record<string, Record<string, string>>;
  /** Folder for files between the steps, as `runner.temp`. */
  temp: string;
  workspace: string;
}

/** The expressions that the actions use; any other has no value, as for GitHub. */
function evaluate(text: string, { inputs, outputs, temp, workspace }: Values): string {
  return text.replace(/\$\{\{ *(.*?) *\}\}/g, (_, expression: string) => {
    const [, left, operator, right] = /^inputs\.([\w-]+) (==|!=) '(\w*)'$/.exec(expression) ?? [];
    if (left !== undefined) return String((inputs[left] === right) === (operator === '=='));
    const input = /^inputs\.([\w-]+)$/.exec(expression)?.[1];
    if (input !== undefined) return inputs[input] ?? '';
    const hashed = /^hashFiles\('\*\*\/(\S+)'\)$/.exec(expression)?.[1];
    if (hashed !== undefined) return hashFiles(workspace, hashed);
    const [, step, output] = /^steps\.(\w+)\.outputs\.(\w+)$/.exec(expression) ?? [];
    if (step !== undefined && output !== undefined) return outputs[step]?.[output] ?? '';
    const runner: Record<string, string> = {
      // Of the job.
      'github.token': 'ghs_test',
      'runner.temp': temp,
      'runner.os': 'Linux',
      'runner.arch': 'X64',
    };
    if (expression in runner) return runner[expression]!;
    throw new Error(`the test does not support ${expression}`);
  });
}

/** A hash of all files with this name, empty if there is none. As on GitHub, links are not followed. */
function hashFiles(folder: string, name: string): string {
  // Without types, Node follows links, and one to a parent folder would be read until ELOOP.
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name === name)
    .map((entry) => path.join(entry.parentPath, entry.name));
  if (found.length === 0) return '';
  const hash = createHash('sha256');
  for (const file of found.sort()) hash.update(readFileSync(file));
  return hash.digest('hex');
}

/** The workflow commands that the runner would execute: none between stop-commands and the given token. */
function commandsOf(log: string): string[] {
  let stopped: string | undefined;
  return log.split(/\r\n|\n|\r/).flatMap((line) => {
    const text = line.trimStart();
    if (stopped !== undefined) {
      if (text === `::${stopped}::`) stopped = undefined;
      return [];
    }
    const word = /^::stop-commands::(.*)$/.exec(text)?.[1];
    if (word !== undefined) stopped = word;
    return word === undefined && (text.startsWith('::') || text.includes('##[')) ? [text] : [];
  });
}

function readOutputs(file: string): Record<string, string> {
  const outputs: Record<string, string> = {};
  const lines = readFileSync(file, 'utf8').split('\n');
  for (let at = 0; at < lines.length - 1; at++) {
    const [, name, word] = /^(\w+)<<(.+)$/.exec(lines[at]!) ?? [];
    if (name === undefined) throw new Error(`no output: ${lines[at]}`);
    const end = lines.indexOf(word!, at + 1);
    outputs[name] = lines.slice(at + 1, end).join('\n');
    at = end;
  }
  return outputs;
}

/** Runs the steps in the folder `workspace`, with other files in `folder`. */
export function runAction(
  actionFolder: string,
  given: Record<string, string>,
  { folder, workspace }: { folder: string; workspace: string },
  environment: Record<string, string> = {},
): Result {
  const action = readAction(actionFolder);
  const defaults = Object.entries(action.inputs).map(([name, input]) => [name, input.default ?? '']);
  const temp = path.join(folder, 'temp');
  mkdirSync(temp, { recursive: true });
  const values: Values = {
    inputs: { ...Object.fromEntries(defaults), program, ...given },
    outputs: {},
    temp,
    workspace,
  };
  const result: Result = { code: 0, log: '', commands: [], outputs: {}, ran: [], used: {} };
  const evaluateAll = (texts: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, evaluate(text, values)]));
  for (const step of action.runs.steps) {
    if (step.if !== undefined && evaluate(step.if, values) !== 'true') continue;
    result.ran.push(step.name);
    if (step.uses !== undefined) {
      result.used[step.name] = evaluateAll(step.with);
      continue;
    }
    const script = path.join(folder, 'step.sh');
    writeFileSync(script, evaluate(step.run!, values));
    const output = path.join(folder, 'output');
    writeFileSync(output, '');
    const { status, output: streams } = spawnSync(
      'bash',
      ['--noprofile', '--norc', '-eo', 'pipefail', script],
      {
        cwd: workspace,
        env: cleanEnvironment(folder, {
          CI: 'true',
          GITHUB_ACTIONS: 'true',
          GITHUB_ACTION_PATH: actionFolder,
          GITHUB_WORKSPACE: workspace,
          GITHUB_OUTPUT: output,
          ...environment,
          ...evaluateAll(step.env),
        }),
        encoding: 'utf8',
        input: '',
      },
    );
    result.log += streams.join('');
    if (step.id !== undefined) values.outputs[step.id] = readOutputs(output);
    result.code = status;
    if (status !== 0) break;
  }
  result.commands = commandsOf(result.log);
  for (const [name, { value }] of Object.entries(action.outputs))
    result.outputs[name] = evaluate(value, values);
  return result;
}
