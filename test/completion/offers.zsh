# zsh -f offers.zsh SCRIPT LINE: the words that TAB offers at the end of LINE, one on each line. The line is
# typed into a real, interactive zsh; the builtin that takes offers is wrapped to print them; calls with
# -O, -A or -D ask what would match and offer nothing.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; stty -echo
autoload -Uz compinit && compinit -u -D
source '${(q)1}'
zstyle ":completion:*" insert-tab false
compadd() {
  local -a offered
  if (( ${@[(I)-[OAD]]} )); then builtin compadd "$@"; return; fi
  builtin compadd -O offered "$@"
  local one; for one in $offered; do print -r -- "<offered>$one<end>"; done
  builtin compadd "$@"
}
finish() { print "<finished>" }
comppostfuncs=(finish)
bindkey "^I" complete-word
print "<ready>"'
local chunk text=''
while zpty -r shell chunk; do
  [[ $chunk == *'<ready>'* && $chunk != *print* ]] && break
done
zpty -w -n shell "$2"$'\t'
while zpty -r shell chunk; do
  text+=$chunk
  [[ $text == *'<finished>'* ]] && break
done
zpty -d shell
print -r -- "$text" | tr -d '\r' | sed -n 's/^.*<offered>\(.*\)<end>.*$/\1/p' | sort -u
