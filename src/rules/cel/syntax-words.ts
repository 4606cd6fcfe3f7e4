import { borrowedWords } from './borrowed-words.ts'
import type { CelFault, FaultWords } from './engine.ts'

/** Habits of other languages, at the place of the fault or just before it: pattern, what to write. */
const HABITS: readonly { pattern: RegExp; hint: string }[] = [
  { pattern: /^[=!]==|^=/, hint: 'write "==" to compare, "!=" for not' },
  { pattern: /^&/, hint: 'write "&&"' },
  { pattern: /^\|/, hint: 'write "||"' },
  { pattern: /^and\b/i, hint: 'write "&&"' },
  { pattern: /^or\b/i, hint: 'write "||"' },
  { pattern: /^not\s+in\b/i, hint: 'write !(x in list)' },
  { pattern: /^not\b/i, hint: 'write "!"' },
  { pattern: /^is\b/i, hint: 'write "=="' },
  { pattern: /^contains\b/i, hint: 'write x.contains("…")' },
  { pattern: /^matches\b/i, hint: 'write x.matches("…")' },
  { pattern: /^starts_?with\b/i, hint: 'write x.startsWith("…")' },
  { pattern: /^ends_?with\b/i, hint: 'write x.endsWith("…")' },
  { pattern: /^[~]/, hint: 'write x.matches("…")' },
  { pattern: /^[“”‘’„]/, hint: 'write plain quotes: "…"' },
  { pattern: /^\$/, hint: 'variables have no "$": write object, event' },
  { pattern: /^`/, hint: 'write a key with special characters as x["a/b"]' },
  { pattern: /^[)\]}](?!\})/, hint: 'it closes nothing' },
  { pattern: /^\//, hint: 'an expression is a text: x.matches("…")' },
  { pattern: /^;/, hint: 'an expression has no ";"' },
  { pattern: /^%\}|^\}\}/, hint: 'an expression stands without {{ }}' },
]

/** What is wrong with how an expression is written. */
export function syntaxWords({ code, message, start, end }: CelFault, text: string): FaultWords {
  const rest = text.slice(start)
  const before = text.slice(0, start)
  if (code === 'reserved_identifier') return reserved(message)
  if (/^(unterminated_string|unterminated_triple)/.test(code))
    return {
      message: 'has a text without its closing quote',
      hint: closing(rest),
      end: start + 1,
    }
  if (code === 'newline_in_string')
    return {
      message: 'has a text that goes over the end of its line',
      hint: 'close the quote, or join texts with "+"',
    }
  if (/escape|surrogate/.test(code))
    return {
      message: lowerFirst(message),
      hint: 'write "\\\\" for a backslash, or r"…" for a text without escapes',
    }
  if (/[=!]=$/.test(before) && rest.startsWith('=')) {
    const first = start - 2
    return {
      message: `"${text.slice(first, start + 1)}" is no operator`,
      hint: `write "${text.slice(first, start)}"`,
      start: first,
      end: start + 1,
    }
  }
  const borrowed = borrowedWords(text, start)
  if (borrowed) return borrowed
  if (/\bnot\s*$/i.test(before))
    return {
      message: '"not" is no operator',
      hint: 'write "!"',
      start: before.search(/not\s*$/i),
      end: before.trimEnd().length,
    }
  const macro = /^\w+\s*\.\s*(exists|exists_one|all|map|filter)\s*\(/.exec(rest)
  if (macro && /\.\s*\?\s*$/.test(before))
    return {
      message: `"${macro[1]}" works on lists, and this may be none`,
      hint: `write .orValue([]) before .${macro[1]}(…)`,
      end: start + (macro[0] as string).length - 1,
    }
  const habit = HABITS.find(({ pattern }) => pattern.test(rest))
  if (start >= text.trimEnd().length)
    return {
      message: 'ends too early',
      hint: missing(text),
      start: Math.max(text.trimEnd().length - 1, 0),
      end: text.trimEnd().length,
    }
  const word = /^(?:[\w.]+|["'][^"']{0,40}["']?|.)/su.exec(rest)?.[0] ?? ''
  return {
    message: `${JSON.stringify(word).replaceAll('\\"', "'")} does not belong here`,
    hint:
      habit?.hint ??
      (/^[A-Za-z_"'\d]/.test(word) ? 'is an operator missing before it, such as "&&" or "=="?' : undefined),
    start,
    end: Math.max(start + word.length, Math.min(end, start + word.length)),
  }
}

/** With the quote that is missing, where it is only a word. */
function closing(text: string): string {
  const [word, quote] = /^(["'])[\w./-]+$/.exec(text.trimEnd()) ?? []
  return word === undefined ? 'close it' : `close it: ${word}${quote}`
}

function reserved(message: string): FaultWords {
  const name = /: (.*)$/.exec(message)?.[1] ?? ''
  const hint = name === 'namespace' ? 'write event.namespace' : undefined
  return { message: `"${name}" is a reserved word`, hint }
}

function missing(text: string): string | undefined {
  for (const [open, close] of ['()', '[]', '{}'] as const) {
    const count = (char: string | undefined) => text.split(char ?? '').length
    if (count(open) > count(close)) return `a "${close}" is missing`
  }
  return 'what follows is missing'
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1)
}
