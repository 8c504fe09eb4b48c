import type { Argument, Command, Option } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { OUTPUT_FORMATS } from './io/print.js';
import { buildProgram } from './program.js';
import { runTest, testIo } from './testing/command-line.js';

/** Rules for all commands of the program. */

interface Named {
  name: string;
  command: Command;
}

let commands: Named[];
beforeAll(async () => {
  const walk = (command: Command, name: string): Named[] => {
    const visible = command.createHelp().visibleCommands(command);
    return visible.length > 0
      ? visible.flatMap((one) => walk(one, `${name} ${one.name()}`.trim()))
      : [{ name, command }];
  };
  const all = walk(await buildProgram(testIo()), '');
  commands = all.filter(({ name }) => !/(?:^| )help$/.test(name));
  expect(commands.length).toBeGreaterThan(60);
});

const option = ({ command }: Named, long: string) => command.options.find((one) => one.long === long);

/** Commands without `-o table|json|yaml`, each with the reason. */
const OTHER_OUTPUT: Record<string, string> = {
  lint: 'has text, json, and the formats of code scanners',
  build: 'stdout is the built resources, as with kustomize build',
  'fn render': 'takes a target as kpt does; json is a report',
  'fn eval': 'takes a target as kpt does; json is a report',
  'fn run': 'takes a target as kpt does; json is a report',
  'fn source': 'stdout is a ResourceList, as with kpt',
  'fn sink': 'has no result besides the files, as with kpt',
  'kpt exec': 'stdout is a ResourceList',
  lock: 'has markdown, too, for previews',
  serve: 'runs until it is stopped, and writes a log',
  completion: 'stdout is a script',
  'docker-credential': 'stdout is what clients of docker read',
  docs: 'stdout is a page, as Markdown',
};

describe('-o', () => {
  it('takes the same formats in every command, except those with a reason', () => {
    const others = commands.filter((one) => {
      const output = option(one, '--output');
      return output?.short !== '-o' || output.argChoices?.join() !== OUTPUT_FORMATS.join();
    });
    expect(others.map(({ name }) => name).sort()).toEqual(Object.keys(OTHER_OUTPUT).sort());
  });

  it('is the only option with this letter', () => {
    const short = commands.flatMap(({ name, command }) =>
      command.options.filter((one) => one.short === '-o' && one.long !== '--output').map(() => name),
    );
    expect(short).toEqual([]);
  });

  it('prints a usage error as JSON in every command', async () => {
    for (const one of commands) {
      if (option(one, '--output')?.argChoices?.includes('json') !== true) continue;
      const io = await runTest([...one.name.split(' '), '-o', 'json', '--no-such-option']);
      expect([one.name, io.exitCode, JSON.parse(io.out())]).toEqual([
        one.name,
        2,
        {
          error: {
            code: 'usage',
            message: expect.any(String),
            hint: `Show the arguments and options: krmhub ${one.name} --help`,
            diagnostics: [],
          },
        },
      ]);
      expect(io.err()).toContain(`error: ${JSON.parse(io.out()).error.message}\n`);
    }
  });

  it.each([
    [['-ojson'], true],
    [['--output=json'], true],
    [['--output', 'json'], true],
    [['-o', 'table'], false],
    [[], false],
    [['--', '-o', 'json'], false],
  ])('prints a usage error as JSON for %j: %s', async (args, isJson) => {
    const io = await runTest(['show', 'Kind', '--regstry', 'x', ...args]);
    expect(io.exitCode).toBe(2);
    if (isJson) expect(JSON.parse(io.out()).error.hint).toMatch(/^\(Did you mean --registry\?\) Show the/);
    else expect(io.out()).toBe('');
  });
});

/** Flags that have the same letter and argument in all commands but these, each with the reason. */
const OTHER_ARGUMENT: Record<string, string> = {
  'keygen --out': 'names two files by their common start',
  'search --catalog': 'filters by the name of a catalog of the registry',
  'trust add --catalog': 'is the name in a signature',
  'lock --report': 'sends a report to registries, and writes none to a file',
  'login --use': 'is the URL of a registry, not a function',
  'search --network': 'filters, so it needs true or false',
  'search --group': 'filters by a whole group, not by a glob',
  'convert --group': 'sets a whole group, not a glob',
  'catalog apply --example': 'is a recipe of krmhub, and without a name lists them',
  'convert --example': 'is the URL of an example, not the name of one to run',
  'catalog pull --snapshot': 'also takes a digest',
  'push --exec': 'names a file to push, not a program to run',
  'fn eval --type': 'is the type of a function, as in kpt',
  'resolve --platforms': 'asks for the platforms of an image, and names none',
  'fn render --output': 'takes a target as kpt does',
  'fn eval --output': 'takes a target as kpt does',
  'fn run --output': 'takes a target as kpt does',
};

describe('flags', () => {
  it('have one letter and one kind of argument', () => {
    const flags = new Map<string, Map<string, string[]>>();
    for (const { name, command } of commands) {
      for (const { long, short, flags: text } of command.options) {
        if (long === undefined || long === null || OTHER_ARGUMENT[`${name} ${long}`] !== undefined) continue;
        const argument = kindOfArgument(/[<[].*/.exec(text)?.[0] ?? '');
        const shape = `${short ?? ''} ${argument}`.trim();
        const shapes = flags.get(long) ?? new Map<string, string[]>();
        shapes.set(shape, [...(shapes.get(shape) ?? []), name]);
        flags.set(long, shapes);
      }
    }
    const several = [...flags].filter(([, shapes]) => shapes.size > 1);
    expect(Object.fromEntries(several.map(([flag, shapes]) => [flag, Object.fromEntries(shapes)]))).toEqual(
      {},
    );
  });

  it('that have another argument exist, and have another one', () => {
    for (const key of Object.keys(OTHER_ARGUMENT)) {
      const at = key.lastIndexOf(' ');
      const found = commands.find(({ name }) => name === key.slice(0, at));
      expect([key, found && option(found, key.slice(at + 1))]).toEqual([key, expect.anything()]);
    }
  });

  it('name paths --out, and nothing else', () => {
    const outs = commands.flatMap((one) => {
      const out = option(one, '--out');
      return out === undefined ? [] : [/[<[](.*)[>\]]/.exec(out.flags)![1]!];
    });
    expect(new Set(outs)).toEqual(new Set(['file', 'folder', 'prefix']));
  });

  it('name bundles of signatures --bundle, and read them from a file', () => {
    for (const one of commands) {
      for (const { long, flags, description } of one.command.options) {
        if (long === '--bundle') expect([one.name, flags]).toEqual([one.name, '--bundle <file>']);
        else if (flags.includes('<')) {
          expect([one.name, long, /\bbundle\b/i.test(description)]).toEqual([one.name, long, false]);
        }
      }
    }
  });

  it('and texts spell license in one way', () => {
    for (const { name, command } of commands) {
      const options = command.options.map(({ flags, description }: Option) => `${flags} ${description}`);
      const args = command.registeredArguments.map(({ description }: Argument) => description);
      const texts = [command.summary(), command.description(), ...options, ...args];
      expect([name, texts.filter((text) => /licen[c]e/i.test(text))]).toEqual([name, []]);
    }
  });
});

/** A file and a folder are paths; other placeholders are themselves. */
function kindOfArgument(placeholder: string): string {
  return placeholder.replace(/file|folder/, 'path');
}
