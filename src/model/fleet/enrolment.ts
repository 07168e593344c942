/** How long an enrolment token is valid unless a person says otherwise, in seconds. */
export const ENROLMENT_SECONDS = 24 * 60 * 60;
/** The longest validity of an enrolment token, in seconds. */
export const MOST_ENROLMENT_SECONDS = 30 * 24 * 60 * 60;
