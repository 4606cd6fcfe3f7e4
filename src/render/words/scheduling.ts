/** The scheduler's verdict without its remarks about claims and preemption. */
export function schedulingClause(message: string): string {
  return message.replace(
    /[.;,]? ?(?:no new claims to deallocate|preemption:|still not schedulable)[\s\S]*$/,
    '',
  )
}
