/** Name of the field that every form of a session has. */
export const FORM_KEY = 'formKey';
