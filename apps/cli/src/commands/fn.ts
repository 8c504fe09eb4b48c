import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import { registerFnEval } from './fn/eval.js';
import { registerFnRender } from './fn/render.js';
import { registerFnRun } from './fn/run.js';
import { registerFnSink } from './fn/sink.js';
import { registerFnSource } from './fn/source.js';

export function registerFn(program: Command, io: Io): void {
  const fn = program
    .command('fn')
    .summary('Run functions on packages of resources.')
    .description('Run functions on folders of resources, as kpt does.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub fn render app
  krmhub fn eval app --exec ./set-labels.sh -- tier=backend
  krmhub fn run app -c catalog.yaml
  krmhub fn source app | krmhub fn eval - --exec ./fn.sh | krmhub fn sink out`,
    );
  registerFnRender(fn, io);
  registerFnEval(fn, io);
  registerFnRun(fn, io);
  registerFnSource(fn, io);
  registerFnSink(fn, io);
}
