import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Runs a program to its end, and gives its exit code or the signal that ended it. Signals go on to it: whoever ends this
 * process ends the program, and this process waits for it. A terminal's Ctrl-C reaches it twice, which programs must take
 * as one. `onStart` sees the child process.
 */
export function runProgram(command, args, options = {}, onStart = () => {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, options)
    const passOn = (signal) => child.kill(signal)
    // A step of the set-up that fails ends this process while others run.
    const stop = () => child.kill()
    for (const signal of PASSED_ON) process.on(signal, passOn)
    process.on('exit', stop)
    const end = (settle) => (value, signal) => {
      for (const name of PASSED_ON) process.off(name, passOn)
      process.off('exit', stop)
      settle(value, signal)
    }
    child.on('error', end(reject))
    child.on(
      'exit',
      end((code, signal) => resolve({ code, signal })),
    )
    onStart(child)
  })
}

/** What a shell says of a program that a signal ended. */
export function exitCodeOf(signal) {
  return 128 + (constants.signals[signal] ?? 0)
}
