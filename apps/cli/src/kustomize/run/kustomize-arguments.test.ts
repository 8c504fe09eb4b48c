import { KrmhubError } from '@krmhub/schema/error';
import { describe, expect, it } from 'vitest';
import { requireInlineAllowed } from './inline-runtimes.js';
import { readKustomizeArguments } from './kustomize-arguments.js';

describe('arguments for kustomize', () => {
  it('keeps the flags that allow runtimes, and passes on the others', () => {
    const args = [
      '--enable-helm',
      '--env',
      'A=--enable-exec',
      '-o',
      'out.yaml',
      '--enable-alpha-plugins=false',
      '--network',
    ];
    expect(readKustomizeArguments(args)).toEqual({
      forwarded: ['--enable-helm', '--env', 'A=--enable-exec', '-o', 'out.yaml'],
      enableAlphaPlugins: false,
      enableExec: false,
      enableStar: false,
      network: true,
      containerFlags: ['--env'],
      anyFile: false,
    });
    expect(
      readKustomizeArguments(['--load-restrictor=LoadRestrictionsNone', '--enable-exec=T']),
    ).toMatchObject({
      forwarded: ['--load-restrictor=LoadRestrictionsNone'],
      enableExec: true,
      enableStar: false,
      anyFile: true,
    });
  });

  it.each([[['other']], [['--env']], [['--enable-exec=maybe']], [['--']]])('refuses %j', (args) => {
    expect(() => readKustomizeArguments(args)).toThrow(KrmhubError);
  });
});

describe('an inline runtime', () => {
  const allowed = (flags: string[]) => (runtime: Parameters<typeof requireInlineAllowed>[1]) =>
    requireInlineAllowed('a.yaml:1: v1 A', runtime, readKustomizeArguments(flags));
  const container = { type: 'container', image: 'a:v1', network: false, mounts: [], envs: [] } as const;
  const exec = { type: 'exec', path: './a', args: [], envs: [] } as const;
  const script = { type: 'starlark', path: 'a.star' } as const;

  it.each([
    [container, [], '--enable-alpha-plugins'],
    [{ ...container, network: true }, ['--enable-alpha-plugins'], '--network'],
    [exec, ['--enable-alpha-plugins'], '--enable-exec'],
    [exec, [], '--enable-alpha-plugins --enable-exec'],
    [script, ['--enable-alpha-plugins', '--enable-exec'], '--enable-star'],
  ])('%j with %j needs its own flags', (runtime, flags, missing) => {
    expect(() => allowed(flags)(runtime)).toThrow(
      expect.objectContaining({ code: 'untrusted', hint: `If you trust it, allow it with: -- ${missing}` }),
    );
    expect(() => allowed([...flags, ...missing.split(' ')])(runtime)).not.toThrow();
  });
});
