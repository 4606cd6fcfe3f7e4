import type { Command } from 'commander'
import { bashCompletion } from './bash.ts'
import { type CommandNode, commandTree } from './command-tree.ts'
import { fishCompletion } from './fish.ts'
import { zshCompletion } from './zsh.ts'

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } satisfies Record<
  string,
  (root: CommandNode) => string
>

/** Prints the script that completes the program's commands and options. */
export function printCompletion(program: Command, shell: keyof typeof SCRIPTS): number {
  process.stdout.write(SCRIPTS[shell](commandTree(program)))
  return 0
}
