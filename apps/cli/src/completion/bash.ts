import { allCommands, type CommandDescription, type Values } from './describe-command.js';

/** A script for bash 3.2 and later. It asks nothing of krmhub while a user types. */
export function bashScript(program: CommandDescription, version: string): string {
  const commands = allCommands(program);
  return `# bash completion for krmhub ${version}; made by \`krmhub completion bash\`.

_krmhub_files() {
  # Readline completes names itself, with quotes and tildes; older versions of bash cannot be asked to.
  if compopt -o "$1" 2>/dev/null; then
    COMPREPLY=()
  else
    local IFS=$'\\n'
    if [ "$1" = dirnames ]; then COMPREPLY=($(compgen -d -- "$2")); else COMPREPLY=($(compgen -f -- "$2")); fi
  fi
}

_krmhub() {
  local cur=\${COMP_WORDS[COMP_CWORD]} command='' option='' word next index position=0 ended=''
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    # Bash splits --option=value at the sign.
    if [ "$word" = = ]; then continue; fi
    if [ -n "$option" ]; then
      option=''
      continue
    fi
    if [ -z "$ended" ]; then
      case "$word" in
        --)
          ended=1
          continue
          ;;
        -?*)
          case "$command $word" in
${arms(commands.flatMap(valueFlags), '            ', () => 'option=$word')}
          esac
          continue
          ;;
      esac
    fi
    next=''
    if [ "$position" = 0 ]; then
      case "$command/$word" in
${arms(
  commands.flatMap(({ path, commands: inner }) =>
    inner.map((one) => ({ pattern: `${key(path)}/${one.path.at(-1)}`, text: key(one.path) })),
  ),
  '        ',
  ({ text }) => `next=${quoted(text)}`,
)}
      esac
    fi
    if [ -n "$next" ]; then command=$next; else position=$((position + 1)); fi
  done
  if [ "$cur" = = ]; then cur=''; fi
  COMPREPLY=()
  if [ -n "$option" ]; then
    case "$command $option" in
${arms(valueCompletions(commands), '      ', ({ text }) => text)}
    esac
    return
  fi
  if [ -z "$ended" ]; then
    case "$cur" in
      -*)
        case "$command" in
${arms(
  commands.map(({ path, options }) => ({
    pattern: key(path),
    text: options.flatMap(({ flags }) => flags).join(' '),
  })),
  '          ',
  ({ text }) => words(text),
)}
        esac
        return
        ;;
    esac
  fi
  case "$command $position" in
${arms(positionCompletions(commands), '    ', ({ text }) => text)}
  esac
}

complete -F _krmhub krmhub
`;
}

interface Arm {
  pattern: string;
  text: string;
}

/** Arms of a case; those that do the same stand together. */
function arms(all: readonly Arm[], indent: string, action: (arm: Arm) => string): string {
  const byAction = new Map<string, string[]>();
  for (const arm of all) {
    const does = action(arm);
    byAction.set(does, [...(byAction.get(does) ?? []), arm.pattern]);
  }
  return [...byAction]
    .map(([does, patterns]) => `${indent}${patterns.map(pattern).join(' | ')}) ${does} ;;`)
    .join('\n');
}

/** A `*` at the end of a pattern stays one. */
function pattern(text: string): string {
  return text.endsWith('*') ? `${quoted(text.slice(0, -1))}*` : quoted(text);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function key(path: readonly string[]): string {
  return path.join(' ');
}

function words(text: string): string {
  return `COMPREPLY=($(compgen -W ${quoted(text)} -- "$cur"))`;
}

function valueFlags({ path, options }: CommandDescription): Arm[] {
  return options
    .filter(({ value }) => value !== undefined)
    .flatMap(({ flags }) => flags.map((flag) => ({ pattern: `${key(path)} ${flag}`, text: '' })));
}

function valueCompletions(commands: readonly CommandDescription[]): Arm[] {
  return commands.flatMap(({ path, options }) =>
    options.flatMap(({ flags, value }) =>
      value === undefined
        ? []
        : flags.map((flag) => ({ pattern: `${key(path)} ${flag}`, text: completion(value.values) })),
    ),
  );
}

function positionCompletions(commands: readonly CommandDescription[]): Arm[] {
  return commands.flatMap(({ path, commands: inner, arguments: given }) => [
    ...(inner.length === 0
      ? []
      : [{ pattern: `${key(path)} 0`, text: words(inner.map((one) => one.path.at(-1)).join(' ')) }]),
    ...given.map(({ values, variadic }, index) => ({
      pattern: `${key(path)} ${variadic ? '*' : index}`,
      text: completion(values),
    })),
  ]);
}

function completion(values: Values): string {
  switch (values.kind) {
    case 'choices':
      return words(values.choices.join(' '));
    case 'files':
      return '_krmhub_files default "$cur"';
    case 'folders':
      return '_krmhub_files dirnames "$cur"';
    case 'none':
      return ':';
  }
}
