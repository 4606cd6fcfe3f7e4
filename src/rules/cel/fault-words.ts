import type { CelEngine, CelFault, FaultWords } from './engine.ts'
import { unknownFunction, writtenAt } from './function-words.ts'
import { unknownField, unknownVariable } from './name-words.ts'
import { hasOf, pathBefore } from './operands.ts'
import { optionalConditionHint } from './optional-words.ts'
import { syntaxWords } from './syntax-words.ts'
import { typeName, wrongTypes } from './type-words.ts'

/** What is wrong with an expression, and what to write instead. */
export function faultWords(fault: CelFault, text: string, functions: CelEngine['functions']): FaultWords {
  switch (fault.code) {
    case 'unknown_variable':
      return unknownVariable(fault, text)
    case 'no_such_key':
      return unknownField(fault, text)
    case 'no_matching_overload':
      return unknownFunction(fault, text, functions)
    case 'no_such_overload':
      return wrongTypes(fault, text)
    case 'cannot_index_type':
      return {
        message: `${typeIn(fault)} has no field "${writtenAt(fault, text)}"`,
        ...(/^(length|size|count|len)$/.test(writtenAt(fault, text)) && sizeWords(fault, text)),
      }
    case 'invalid_logical_operand':
      return {
        message: `"&&" and "||" take true or false, and one side is ${typeIn(fault)}`,
        hint: logicalHint(fault, text),
      }
    case 'invalid_condition_type':
      return {
        message: `must be true or false, and is ${typeIn(fault)}: ${writtenAt(fault, text)}`,
        hint: optionalConditionHint(rawTypeIn(fault), text.slice(0, fault.end)),
      }
    case 'heterogeneous_list_element':
      return { message: lowerFirst(fault.message), hint: 'write texts in quotes, all of them, or none' }
    case 'invalid_macro_argument':
      return macroArgument(fault, text)
    case 'limit_exceeded':
      return { message: limitWords(fault.message), hint: 'split the rule, or test names with "when"' }
    default:
      return syntaxWords(fault, text)
  }
}

function logicalHint(fault: CelFault, text: string): string {
  const type = rawTypeIn(fault)
  if (type === 'string' && /==/.test(text))
    return 'compare each side: x == "a" || x == "b"; or one with several: x in ["a", "b"]'
  return optionalConditionHint(type, writtenAt(fault, text)) ?? 'compare it with something'
}

function macroArgument(fault: CelFault, text: string): FaultWords {
  if (fault.message.startsWith('has()')) {
    const written = writtenAt(fault, text)
    const [, path] = /^["']([A-Za-z][\w.]*\.\w+)["']$/.exec(written) ?? []
    const meant = path && /^(metadata|spec|status|data)\./.test(path) ? `object.${path}` : path
    return {
      message: `"has()" takes a field${/^["']/.test(written) ? ', not a text' : ''}`,
      hint: meant
        ? `write ${hasOf(meant).slice('has('.length, -1)}`
        : 'write has(object.spec.replicas); for a key: object.metadata.?labels[?"a/b"].hasValue()',
    }
  }
  return {
    message: 'begins with no name for the items',
    hint: `write list.exists(it, it.name == "…"): ${writtenAt(fault, text)} is no name`,
  }
}

/** `event.message.length` → `event.message.size()` */
function sizeWords({ start }: CelFault, text: string): { hint: string; start?: number } {
  const path = pathBefore(text.slice(0, start).trimEnd().replace(/\.$/, ''))
  return path ? { hint: `write ${path.written}.size()`, start: path.start } : { hint: 'write x.size()' }
}

function limitWords(message: string): string {
  if (message.includes('maxDepth')) return 'is nested too deeply: at most 50 levels'
  if (message.includes('maxAstNodes')) return 'is too long: at most 2,000 operators, values and calls'
  if (message.includes('maxLength')) return 'is too long: at most 20,000 characters'
  if (message.includes('maxCall')) return 'has a call with more than 16 arguments'
  return 'has a list or map of more than 500 members'
}

function typeIn(fault: CelFault): string {
  return typeName(rawTypeIn(fault))
}

function rawTypeIn({ message }: CelFault): string {
  return /'(.*)'/.exec(message)?.[1] ?? 'none'
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1)
}
