import {
  allCommands,
  type CommandDescription,
  type OptionDescription,
  type Values,
} from './describe-command.js';

/** A script for zsh 5: one function for each command. It asks nothing of krmhub while a user types. */
export function zshScript(program: CommandDescription, version: string): string {
  return `#compdef krmhub
# zsh completion for krmhub ${version}; made by \`krmhub completion zsh\`.

${allCommands(program).map(commandFunction).join('\n')}
if [ "$funcstack[1]" = "_krmhub" ]; then
  _krmhub "$@"
else
  compdef _krmhub krmhub
fi
`;
}

function commandFunction(command: CommandDescription): string {
  const specs = [...command.options.flatMap(optionSpecs)];
  if (command.commands.length === 0) {
    specs.push(
      ...command.arguments.map(
        ({ name, values, variadic }, index) =>
          `${variadic ? '*' : index + 1}:${specText(name)}:${action(values)}`,
      ),
    );
    return `${functionName(command)}() {\n  _arguments -s -S ${lines(specs)}\n}\n`;
  }
  specs.push('1: :->command', '*:: :->rest');
  const entries = command.commands.map(
    ({ path, description }) => `    ${quoted(`${path.at(-1)!.replaceAll(':', '\\:')}:${description}`)}`,
  );
  const branches = command.commands.map((one) => `        ${one.path.at(-1)}) ${functionName(one)} ;;`);
  return `${functionName(command)}() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  local -a commands=(
${entries.join('\n')}
  )
  _arguments -C -s -S ${lines(specs)}
  case $state in
    command) _describe -t commands command commands ;;
    rest)
      case $line[1] in
${branches.join('\n')}
      esac
      ;;
  esac
}
`;
}

function functionName({ path }: CommandDescription): string {
  return ['_krmhub', ...path].join('_').replaceAll('-', '_');
}

/** An option may be repeated wherever it takes a value: which may not is told by krmhub. */
function optionSpecs({ flags, description, value }: OptionDescription): string[] {
  const text = `[${specText(description)}]`;
  if (value === undefined) return flags.map((flag) => `(${flags.join(' ')})${flag}${text}`);
  const rest = `${text}:${specText(value.name)}:${action(value.values)}`;
  return flags.map((flag) => `*${flag}${flag.startsWith('--') ? '=' : '+'}${rest}`);
}

function action(values: Values): string {
  switch (values.kind) {
    case 'choices':
      return `(${values.choices.map((choice) => specText(choice)).join(' ')})`;
    case 'files':
      return '_files';
    case 'folders':
      return '_files -/';
    case 'none':
      return ' ';
  }
}

/** What `_arguments` would take for the end of a part. */
function specText(text: string): string {
  return text.replace(/[\\:[\]]/g, '\\$&');
}

function lines(specs: readonly string[]): string {
  return specs.map((spec) => `\\\n    ${quoted(spec)}`).join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
