import { formatProblems, type Problem, withoutSecrets } from '../../config/problem.ts'

/** The problems with their lines, for people; `colour` where they read a terminal. */
export function showProblems(
  problems: readonly Problem[],
  text: string | ReadonlyMap<string, string>,
  colour = isColoured(),
): string {
  return formatProblems(problems, text, { colour })
}

export function isColoured(): boolean {
  return process.stderr.isTTY === true && !process.env['NO_COLOR']
}

type Texts = ReadonlyMap<string, string>

function errorsOf(problems: readonly Problem[], texts: Texts): Problem[] {
  const files = [...texts.keys()]
  const place = ({ file }: Problem) => files.indexOf(file)
  return problems
    .filter(({ severity }) => severity === 'error')
    .toSorted((a, b) => place(a) - place(b) || a.line - b.line || a.column - b.column)
}

/** Returns where the first error is, without anything of the file: `kubeherald.yaml:3`. */
export function firstPlace(problems: readonly Problem[], texts: Texts): string | undefined {
  const [first] = errorsOf(problems, texts)
  return first && `${first.file}:${first.line}`
}

/** `kubeherald.yaml:3:5: there is no sink "oncal" (and 2 more problems)`. */
export function inOneLine(problems: readonly Problem[], texts: Texts): string {
  const errors = errorsOf(problems, texts)
  const [first] = errors
  if (!first) return ''
  const more = errors.length - 1
  const rest = more === 0 ? '' : ` (and ${more} more problem${more === 1 ? '' : 's'})`
  const { message } = withoutSecrets(first, (texts.get(first.file) ?? '').split(/\r?\n/))
  return `${first.file}:${first.line}:${first.column}: ${message}${rest}`
}
