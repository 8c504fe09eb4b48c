import { allCommands, type CommandDescription, type Values } from './describe-command.js';

/** A script for fish 3. It asks nothing of krmhub while a user types. */
export function fishScript(program: CommandDescription, version: string): string {
  const commands = allCommands(program);
  const groups = commands.filter(({ commands: inner }) => inner.length > 0);
  const cases = groups.flatMap(({ path, commands: inner }) =>
    inner.map((one) => `            case ${quoted([...path, one.path.at(-1)].join(' '))}`),
  );
  const lines = commands.flatMap((command) => [
    ...command.commands.map(
      (one) =>
        `complete -c krmhub -n ${condition(command)} -f -a ${quoted(one.path.at(-1)!)} -d ${quoted(one.description)}`,
    ),
    ...command.options.map(({ flags, description, value }) => {
      const names = flags.map((flag) =>
        flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
      );
      const given = value === undefined ? '' : ` ${valueWords(value.values)}`;
      return `complete -c krmhub -n ${condition(command)} ${names.join(' ')}${given} -d ${quoted(description)}`;
    }),
    ...command.arguments
      .filter(({ values }) => values.kind !== 'none')
      .map(({ values }) => `complete -c krmhub -n ${condition(command)} ${argumentOf(values)}`),
  ]);
  return `# fish completion for krmhub ${version}; made by \`krmhub completion fish\`.

# The command that has been typed so far: "catalog pull", or nothing.
function __krmhub_command
    set -l found
    for word in (commandline -opc)[2..-1]
        string match -q -- '-*' $word; and continue
        set -l longer (string join ' ' $found $word)
        switch $longer
${cases.map((line) => `${line}\n                set found $longer`).join('\n')}
            case '*'
                break
        end
    end
    echo "$found"
end

function __krmhub_at
    test (__krmhub_command) = "$argv"
end

complete -c krmhub -f
${[...new Set(lines)].join('\n')}
`;
}

function condition({ path }: CommandDescription): string {
  return quoted(['__krmhub_at', ...path].join(' '));
}

function valueWords(values: Values): string {
  switch (values.kind) {
    case 'choices':
      return `-x -a ${quoted(values.choices.join(' '))}`;
    case 'files':
      return '-r -F';
    case 'folders':
      return "-x -a '(__fish_complete_directories)'";
    case 'none':
      return '-x';
  }
}

function argumentOf(values: Values): string {
  if (values.kind === 'choices') return `-f -a ${quoted(values.choices.join(' '))}`;
  return values.kind === 'folders' ? "-f -a '(__fish_complete_directories)'" : '-F';
}

/** In single quotes only the quote and the backslash are special to fish. */
function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
